"""Organizations, their members and their API keys.

It stands on the database and the money of the store.
"""
