"""Tests of a single HTTP request and its failures."""
