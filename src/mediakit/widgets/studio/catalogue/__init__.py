"""The tab in which functions are found and used.

It depends on the form.
"""
