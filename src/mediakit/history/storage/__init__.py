"""The database: engines, connections, forks and tables.

It stands on nothing else in the history.
"""
