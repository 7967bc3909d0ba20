"""Which results were compared: takes, lineage, ratings and scores.

It stands on `storage` and `entries`.
"""
