"""Announcing the ends of jobs: events, signatures, the sender, its log (spec 6)."""
