"""Masks painted on a frame of a clip."""
