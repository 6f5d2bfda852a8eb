"""Encoders: sentences in, float32 vectors ``(n, dim)`` out."""
