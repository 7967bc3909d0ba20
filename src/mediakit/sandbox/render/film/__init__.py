"""Films and what they are made of: shots, layers, reels, regions and timelines.

It depends on the frames, the inputs, the sound and the landscapes.
"""
