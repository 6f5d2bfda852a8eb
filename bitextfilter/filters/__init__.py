"""Rules that keep or drop pairs and say why, and the pipeline that applies them."""
