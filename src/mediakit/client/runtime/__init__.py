"""The I/O thread and what tasks share on it: progress, listeners, single flights.

It depends on nothing else in the client.
"""
