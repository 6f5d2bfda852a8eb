"""Similarity of sentences: measures of vectors, margins, neighbour search and pair classifiers."""
