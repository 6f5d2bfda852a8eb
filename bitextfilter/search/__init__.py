"""The nearest rows of many vectors: exact, on a GPU, in clusters and by an index."""
