"""Clips and sounds from outside, opened safely.

It depends on the frames.
"""
