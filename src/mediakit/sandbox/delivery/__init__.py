"""Telling receivers how jobs ended: events, signatures, attempts and their schedule.

It stands on `core`; everything that leaves this machine goes through its guard.
"""
