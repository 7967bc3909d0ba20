"""What is spent and reserved, and which limits a new submit has to fit.

It stands on `entries`; each decision is made in the transaction that writes the entry.
"""
