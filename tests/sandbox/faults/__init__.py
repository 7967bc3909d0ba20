"""Faults on request."""
