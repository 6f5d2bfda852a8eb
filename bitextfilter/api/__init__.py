"""The public functions: the work of the commands on values of Python."""
