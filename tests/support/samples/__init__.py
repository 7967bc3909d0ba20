"""Requests, files and messages to test with."""
