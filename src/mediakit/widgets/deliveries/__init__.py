"""The log of webhook deliveries, which shows itself in the cell.

It stands on the cards of jobs, whose look it shares.
"""
