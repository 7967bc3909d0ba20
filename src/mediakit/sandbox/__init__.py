"""A complete media service on this machine: real HTTP, real files, no account.

It depends on the catalog, as the client does, and shares no other code with it.
"""
