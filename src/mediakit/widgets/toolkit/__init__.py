"""Helpers of all widgets: callbacks, background tasks, cell outputs and styles.

They depend only on the I/O thread, and import no other room.
"""
