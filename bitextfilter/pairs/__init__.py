"""Classifiers of pairs: of words, and of sentence vectors."""
