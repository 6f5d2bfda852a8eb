"""Streams, files and rows: how data comes in and goes out."""
