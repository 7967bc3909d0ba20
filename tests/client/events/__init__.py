"""Listening for events."""
