"""Recipes: pipes of commands in a file, planned, run, and resumed."""
