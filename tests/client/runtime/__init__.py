"""Tests of the I/O thread and of secrets."""
