"""Converts field values between Python and the page, and words them for people.

The code has no side effects, and names no form and no particular field.
"""
