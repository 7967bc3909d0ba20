"""Tests of the project: its modules, documents, notebooks and installation."""
