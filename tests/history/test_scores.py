"""Scores are kept by the hash of the output, the scorer and its version."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from mediakit.history import History, tuning
from mediakit.history.tuning import Score
from tests.support.submissions import HERE

SHAS = [f"{number:064x}" for number in range(2_500)]
MINE: dict[str, Any] = {**HERE}


def score(sha256: str, **changes: Any) -> Score:
    plain = Score(sha256, "sharpness", "1", values=None, error=None)
    return replace(plain, **changes)


def test_scores_are_found_by_output_scorer_and_version(history: History) -> None:
    tuning.save_scores(
        history,
        [
            score(SHAS[7], values={"sharpness": 0.5, "frames": 24}),
            score(SHAS[2_400], values={"sharpness": np.float32(0.25)}),
            score(SHAS[1], version="2", values={"sharpness": 1.0}),
            score(SHAS[2], scorer="motion", values={"motion": 1.0}),
        ],
    )
    assert tuning.scores(history, SHAS, "sharpness", "1") == {
        SHAS[7]: {"sharpness": 0.5, "frames": 24.0},
        SHAS[2_400]: {"sharpness": 0.25},
    }
    assert tuning.scores(history, SHAS, "sharpness", "2") == {
        SHAS[1]: {"sharpness": 1.0}
    }
    assert tuning.scores(history, [], "sharpness", "1") == {}


def test_a_failed_score_is_due_again(history: History) -> None:
    tuning.save_scores(history, [score(SHAS[0], error="no frame could be read\0")])
    assert tuning.scores(history, SHAS[:1], "sharpness", "1") == {}
    tuning.save_scores(history, [score(SHAS[0], values={"sharpness": math.inf})])
    assert tuning.scores(history, SHAS[:1], "sharpness", "1") == {
        SHAS[0]: {"sharpness": math.inf}
    }


def test_scores_are_saved_all_or_none(history: History) -> None:
    broken: Any = {"sharpness": "much"}
    with pytest.raises(ValueError, match="much"):
        tuning.save_scores(
            history, [score(SHAS[0], values={"a": 1.0}), score(SHAS[1], values=broken)]
        )
    assert tuning.scores(history, SHAS[:2], "sharpness", "1") == {}


def test_the_hash_of_an_output_is_known_by_its_job(history: History) -> None:
    tuning.save_sha256s(history, {"media_1": SHAS[1], "media_2": SHAS[2]}, **MINE)
    tuning.save_sha256s(history, {"media_2": SHAS[3]}, **MINE)
    tuning.save_sha256s(
        history, {"media_3": SHAS[4]}, service="sandbox", account="other"
    )
    asked = [f"media_{number}" for number in range(2_500)]
    assert tuning.sha256s(history, asked, **MINE) == {
        "media_1": SHAS[1],
        "media_2": SHAS[3],
    }
