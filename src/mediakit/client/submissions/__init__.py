"""Submitting once: admission against balance and budgets, sending, and its retries.

It stands on `requests`, `account` and `jobs`; only `sender` posts a job.
"""
