"""What is done to corpora without a model."""
