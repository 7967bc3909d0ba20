"""Daily spend: ranges split and joined, days cached, rows named and summed.

It depends on the frames of responses.
"""
