"""A generated melody, given sounds, and both mixed into one track.

It stands on the inputs and the frames.
"""
