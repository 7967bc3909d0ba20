"""File transfers: uploads under grants, resumable downloads, and sidecars.

It depends on `http` and `records`.
"""
