"""Sample history: jobs that a sandbox generates, imported into the history.

It depends on the records of the client; nothing else depends on it.
"""

from mediakit.client.recovery.sample_history.sandbox_response import PastAnswer, PastJob
from mediakit.client.recovery.sample_history.seeding import SeededPast, seed_past

__all__ = ["PastAnswer", "PastJob", "SeededPast", "seed_past"]
