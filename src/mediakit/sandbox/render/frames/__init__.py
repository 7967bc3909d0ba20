"""Frames as planes of bytes, and words on them.

It stands on the sizes alone.
"""
