"""Engines: ordered map of tasks on one machine or many."""
