"""Tests of processes that are killed or restarted."""
