"""Submits each request once: admission against balance and budgets, and retries.

It depends on `requests`, `account` and `jobs`; only `sender` posts a job.
"""
