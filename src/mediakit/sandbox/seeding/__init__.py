"""A made-up past: jobs and charges of earlier months, to have something to look at.

It stands on the pricing of jobs and writes into the store; the admin door asks for it.
"""
