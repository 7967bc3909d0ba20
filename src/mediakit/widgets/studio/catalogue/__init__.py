"""The studio's tab with the model functions.

It depends on the form.
"""
