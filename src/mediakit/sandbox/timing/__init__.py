"""The sandbox's clock, waiting for due times, and retrying work until it succeeds.

It depends on nothing else in the sandbox, so that everything else can use it.
"""
