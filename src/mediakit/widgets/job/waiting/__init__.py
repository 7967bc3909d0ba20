"""Jobs that a cell waits for: a line a job, and one progress for many.

It depends on the cards of jobs.
"""
