"""The I/O thread and what its tasks share: progress, listeners, single flights.

It depends on nothing else in the client.
"""
