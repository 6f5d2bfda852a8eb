"""Sentences to numbers: normalisation, segmentation, vocabularies; language identification."""
