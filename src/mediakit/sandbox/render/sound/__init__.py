"""A generated melody, given sounds, and both mixed into one track.

It depends on the inputs and the frames.
"""
