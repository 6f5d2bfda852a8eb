"""Damage of crawls, made on purpose, with labels."""
