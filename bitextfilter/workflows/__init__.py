"""Trainings and evaluations from files, made of the parts of the rooms below."""
