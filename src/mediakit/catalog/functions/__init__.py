"""The model functions of the specification, one class each.

A new class here is served, priced, documented and shown without registration.
"""
