"""Reports: figures, tables and samples of a scored corpus on one page."""
