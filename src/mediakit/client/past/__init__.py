"""Sample history: jobs that a sandbox generates, imported into the history."""

from mediakit.client.past.answer import PastAnswer, PastJob
from mediakit.client.past.seeding import SeededPast, seed_past

__all__ = ["PastAnswer", "PastJob", "SeededPast", "seed_past"]
