"""The I/O thread and what tasks share on it: progress, listeners, single flights.

It stands on nothing else in the client.
"""
