"""Organizations, their members and their API keys.

It depends on the database and the money of the store.
"""
