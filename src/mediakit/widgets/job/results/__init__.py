"""A result in a job view: its facts, its download and its comparison.

It depends on the text of jobs and on the player; the job view uses it.
"""
