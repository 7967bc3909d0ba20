"""The history as people see it, rebuilding it from the service, and a sample history.

It depends on `submissions`, `jobs` and `account`.
"""
