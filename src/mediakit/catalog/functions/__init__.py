"""The model functions of the specification: one file, one class each.

A file that is put here is served, priced, documented and shown without an entry
anywhere else.
"""
