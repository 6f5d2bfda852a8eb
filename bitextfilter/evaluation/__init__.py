"""Evaluations: numbers in, a result with its signature out."""
