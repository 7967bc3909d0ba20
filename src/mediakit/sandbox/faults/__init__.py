"""Scripted faults: the kinds of rules, and the rules in force.

It depends only on the store; the rooms above ask it which fault applies to them.
"""
