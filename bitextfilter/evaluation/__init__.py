"""Numbers in, a result with its signature out."""
