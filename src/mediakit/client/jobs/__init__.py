"""Jobs after they were accepted: the job objects, the poller, and where results go.

It depends on `transfers`; it never submits anything.
"""
