"""A running sandbox: data directory, sockets, the application and its thread.

It is the top room and depends on all others; `running` starts it.
"""
