"""What is spent and reserved: entries change here together with the totals.

It stands on `entries`. Limits are compared in the transaction that writes the entry.
"""
