"""Tests of the client against the sandbox and against misbehaving servers."""
