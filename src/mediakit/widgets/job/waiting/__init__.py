"""Jobs that a cell waits for: a line a job, and one progress for many.

It stands on the cards of jobs.
"""
