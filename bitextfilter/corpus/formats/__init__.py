"""Formats of files with sentence pairs: a module each, listed in ``registry``."""
