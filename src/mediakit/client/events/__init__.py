"""Hearing of the ends of jobs from the sandbox's webhooks instead of polling.

It stands on `account` and `jobs`.
"""
