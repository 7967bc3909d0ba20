"""Processes that are killed or started again, and what survives them."""
