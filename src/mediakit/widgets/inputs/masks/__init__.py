"""Masks painted on a frame of a clip.

It stands on the controls of media and on the list of results.
"""
