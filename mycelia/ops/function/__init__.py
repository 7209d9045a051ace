"""MindSpore's functional interface: thin functions over the operators, by subject."""
