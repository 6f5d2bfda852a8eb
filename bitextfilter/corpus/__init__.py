"""Noise, deduplication, repairs and formats of corpora, without a model."""
