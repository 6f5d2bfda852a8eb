"""Finding translations in texts that are not aligned."""
