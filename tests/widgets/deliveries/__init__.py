"""The delivery log in a cell."""
