"""The subcommands of bitext-evaluate, one module each."""
