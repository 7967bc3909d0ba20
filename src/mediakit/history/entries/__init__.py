"""Entries, one for each submit: their values, the statements on them, and frames.

It stands on `storage`.
"""
