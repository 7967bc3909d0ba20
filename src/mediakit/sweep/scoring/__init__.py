"""Score the outputs of a sweep with a function of the user.

It runs in this process or on any `concurrent.futures.Executor`, stores scores by the
hash of the output, and does not depend on plans and results.
"""

from mediakit.history.tuning import Score
from mediakit.sweep.scoring.run import BATCH, score_outputs
from mediakit.sweep.scoring.scores import (
    Fetch,
    HistoryScores,
    NoScoreStore,
    Output,
    ScoreStore,
    identity_of,
)
from mediakit.sweep.scoring.workers import Scorer

__all__ = [
    "BATCH",
    "Fetch",
    "HistoryScores",
    "NoScoreStore",
    "Output",
    "Score",
    "ScoreStore",
    "Scorer",
    "identity_of",
    "score_outputs",
]
