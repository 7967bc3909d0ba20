"""Films and what they are made of: shots, layers, reels, regions and timelines.

It stands on the frames, the inputs, the sound and the landscapes.
"""
