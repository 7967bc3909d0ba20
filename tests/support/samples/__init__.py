"""Sample requests, files and messages."""
