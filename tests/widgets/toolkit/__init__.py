"""Callbacks and cards that every widget uses."""
