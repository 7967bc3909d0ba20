"""Helpers of all widgets: callbacks, background tasks, cell outputs and styles.

It depends on the I/O thread alone, and imports no other room.
"""
