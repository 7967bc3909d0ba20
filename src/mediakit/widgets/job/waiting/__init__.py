"""Jobs that a cell waits for: a line for each, and one progress bar for many.

It depends on the cards of jobs.
"""
