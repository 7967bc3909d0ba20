"""The database: engines, connections, locks, tables and migrations.

It stands on nothing else in the history.
"""
