"""Receives the ends of jobs from the sandbox's webhooks instead of polling.

It depends on `account` and `jobs`.
"""
