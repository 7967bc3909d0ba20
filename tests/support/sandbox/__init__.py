"""Helpers for the sandbox's tests."""
