"""Clips and sounds from outside, opened so that they can do no harm.

It depends on the frames.
"""
