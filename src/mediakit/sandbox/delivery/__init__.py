"""Webhooks of ended jobs: events, signatures, attempts and their schedule.

It depends on `core`; every outbound request goes through its guard.
"""
