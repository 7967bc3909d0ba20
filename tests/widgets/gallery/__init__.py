"""The wall of results."""
