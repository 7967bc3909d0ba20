"""A job in a cell: live while it runs, and a static card in the saved notebook.

It depends on the client. Text and HTML are pure; the view uses them.
"""
