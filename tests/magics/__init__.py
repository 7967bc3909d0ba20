"""The notebook's magics."""
