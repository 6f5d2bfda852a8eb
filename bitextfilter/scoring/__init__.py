"""A loaded model, and the scores it gives to sentence pairs."""
