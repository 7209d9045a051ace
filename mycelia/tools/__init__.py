"""What the command line shows: operators, explanations, the state of the machine."""
