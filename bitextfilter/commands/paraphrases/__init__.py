"""The subcommands of bitext-paraphrase, one module each."""
