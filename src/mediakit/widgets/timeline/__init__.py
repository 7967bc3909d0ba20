"""A timeline for lists of items that have a start and a length.

It depends on the nested controls; what a timeline shows and edits is pure.
"""
