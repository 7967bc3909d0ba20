"""A timeline for lists of items that have a start and a length.

It depends on the fields' values and words; it is pure but for its script.
"""
