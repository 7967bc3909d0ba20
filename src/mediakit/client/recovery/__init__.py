"""The users' view of the history, its recovery from the service, and a sample history.

It depends on `submissions`, `jobs` and `account`.
"""
