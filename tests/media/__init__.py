"""Tests of reading local and remote files."""
