"""A form in a cell."""
