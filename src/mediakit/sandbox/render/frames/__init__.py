"""Frames as planes of bytes, and words on them.

It depends only on the sizes.
"""
