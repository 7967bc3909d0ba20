"""A timeline for lists of items with a start and a length.

It depends on the controls of fields, and is pure except for its script.
"""
