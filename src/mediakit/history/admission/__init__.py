"""Spending and holds: entries and totals change in one transaction.

It depends on `entries`. The transaction that writes an entry also checks its limits.
"""
