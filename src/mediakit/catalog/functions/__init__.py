"""The model functions of the specification: one class each, in its own file.

A new file here is served, priced, documented and shown without any other entry.
"""
