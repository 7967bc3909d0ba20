"""The studio's tab with the history: search, results and a selection of jobs.

It depends on the job view and the gallery.
"""
