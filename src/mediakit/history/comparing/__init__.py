"""Comparing results: takes, lineage, ratings and scores.

It depends on `storage` and `entries`.
"""
