"""A job in a cell: live while it runs, and a static card in the saved notebook.

This package depends on the client. Text and HTML are pure functions that the view uses.
"""
