"""Similarity of vectors: cosines, margins, and the plain search for nearest neighbours."""
