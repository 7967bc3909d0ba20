"""Daily spend: ranges split and joined, days cached, rows named and summed.

It stands on the frames of answers.
"""
