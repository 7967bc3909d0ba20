"""The drawn scenes: palettes, ridges, moving figures, chosen by a prompt's words.

It depends on the frames.
"""
