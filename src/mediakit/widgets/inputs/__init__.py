"""Inputs that are no files yet: results from the history, and painted masks.

It depends on the controls of media and on the previews of jobs.
"""
