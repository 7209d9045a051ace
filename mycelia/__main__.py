"""``python -m mycelia``: the command line where the script `mycelia` is not on the path."""

from mycelia.cli import main

if __name__ == "__main__":
    main(prog_name="mycelia")
