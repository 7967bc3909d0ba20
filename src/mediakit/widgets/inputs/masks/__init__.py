"""Masks painted on a frame of a clip.

It depends on the controls of media and on the list of results.
"""
