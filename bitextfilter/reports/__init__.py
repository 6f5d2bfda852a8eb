"""What a corpus and a run look like: figures, tables and samples in one page."""
