"""A list of items with stretches of time, as a timeline above the rows of fields.

It depends on the nested controls; what a timeline shows and edits is pure.
"""
