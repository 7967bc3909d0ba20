"""Results of jobs: the latest attempts, lineage, ratings and scores.

It depends on `storage` and `entries`.
"""
