"""The log of webhook deliveries, which shows itself in the cell.

It depends on the cards of jobs, whose look it shares.
"""
