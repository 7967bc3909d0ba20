"""The studio and its tabs."""
