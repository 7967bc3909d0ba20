"""Clips and sounds from outside, opened so that they can do no harm.

It stands on the frames.
"""
