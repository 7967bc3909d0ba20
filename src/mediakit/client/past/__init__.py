"""A past to learn on: jobs that a sandbox makes up, brought into the history."""

from mediakit.client.past.answer import PastAnswer, PastJob
from mediakit.client.past.seeding import SeededPast, seed_past

__all__ = ["PastAnswer", "PastJob", "SeededPast", "seed_past"]
