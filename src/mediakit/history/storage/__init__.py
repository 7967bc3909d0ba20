"""The database: engines, connections, forks and tables.

It depends on no other part of the history.
"""
