"""Entries, one for each submission: values, statements and frames.

It depends on `storage`.
"""
