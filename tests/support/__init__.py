"""Shared by the tests: servers, clocks, samples and the numbers of examples."""
