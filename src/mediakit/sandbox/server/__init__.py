"""A running sandbox: data directory, sockets, the application and its thread.

This package depends on all other parts of the sandbox; `running` starts it.
"""
