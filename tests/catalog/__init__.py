"""Tests of functions, prices and OpenAPI documents against the tables in tests/spec."""
