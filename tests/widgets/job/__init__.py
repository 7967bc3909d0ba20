"""A job in a cell."""
