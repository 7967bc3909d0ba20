"""Functions, prices and foreign documents, against the tables of tests/spec."""
