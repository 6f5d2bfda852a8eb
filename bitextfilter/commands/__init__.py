"""The commands: the only place of click, standard streams and exit codes."""
