"""The sandbox's clock, alarms for due times, and repeating work until it succeeds.

It stands on nothing else in the sandbox, so that everything else can be given a time.
"""
