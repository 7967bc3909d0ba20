"""Accepted jobs: the job objects, the poller, and the downloads of results.

It depends on `transfers`; it never submits anything.
"""
