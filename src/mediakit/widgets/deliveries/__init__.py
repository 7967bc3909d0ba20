"""The log of webhook deliveries, shown in the cell.

It depends on the cards of jobs, whose look it shares.
"""
