"""The tab in which functions are found and used.

It stands on the form.
"""
