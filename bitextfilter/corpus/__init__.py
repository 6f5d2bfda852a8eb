"""Duplicates, repairs, splits and formats of corpora, without a model."""
