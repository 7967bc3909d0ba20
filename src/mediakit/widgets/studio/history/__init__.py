"""The tab with the history: rows that are searched, opened and selected.

It depends on the job view and the gallery.
"""
