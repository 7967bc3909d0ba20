"""A generated past: jobs and charges of earlier months, to have something to look at.

It depends on the pricing of jobs and the store; the admin interface calls it.
"""
