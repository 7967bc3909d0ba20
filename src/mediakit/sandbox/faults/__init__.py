"""Scripted faults: which rules there are, and which are in force.

It stands on the store alone; the rooms above ask it whether a fault is theirs.
"""
