"""Exports of invented results: their frame, and a source that reads a folder."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd

from mediakit.sweep.export import Exported, export
from mediakit.sweep.rankings import bradley_terry
from mediakit.sweep.scoring import ScoredOutput
from tests.support.submissions import preference

CODE = 'plan = client.sweep("text-to-video", animal=["kite", "boat"], takes=2)'
NUMBERS = {
    "cells": 4,
    "owned": 1,
    "new": 3,
    "spent_micro_usd": 336_000,
    "cost_per_keeper_micro_usd": None,
}


class Source:
    """Fetches outputs from a folder, and counts."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.fetched: Counter[str] = Counter()

    def __call__(self, output: ScoredOutput) -> Path:
        self.fetched[output.job_id] += 1
        return self.folder / output.job_id


def results(**columns: Any) -> pd.DataFrame:
    """Return a frame of results: three cells with a clip and one that failed."""
    frame = pd.DataFrame(
        {
            "animal": pd.Categorical(["kite", "kite", "boat", "boat"]),
            "resolution": pd.Categorical(["720p"] * 4),
            "take": pd.array([1, 2, 1, 2], dtype="int64"),
            "status": pd.Categorical(["completed"] * 3 + ["failed"]),
            "charge_micro_usd": pd.array([112_000] * 3 + [0], dtype="Int64"),
            "runtime_s": [1.5, 2.0, 1.25, None],
            "rating": pd.array([4, None, 5, None], dtype="Int64"),
            "keep": pd.array([False, False, True, False], dtype="boolean"),
            "job_id": pd.array(["job0", "job1", "job2", "job3"], dtype="string"),
            "problem": pd.array([None] * 3 + ["content refused"], dtype="string"),
            "output_url": pd.array(
                [f"http://127.0.0.1/media/{n}.mp4?sig=1" for n in range(3)] + [None],
                dtype="string",
            ),
            "media_type": pd.Categorical(["video"] * 4),
            "prompt": ["a kite", "a kite", "a boat", "a boat"],
            "parent_job_id": pd.array([None] * 4, dtype="string"),
            "tags": pd.array(["sharp, red", None, None, None], dtype="string"),
            "note": pd.array([None, None, "Hand is odd.", None], dtype="string"),
        }
    )
    return frame.assign(**columns)


def exported(where: Path | str, source: Source, **changed: object) -> Exported:
    arguments = {
        "rows": results(),
        "ranking": bradley_terry([preference("job2", "job0")]),
        "scores": {"job0": "stars 4 (It flies.)"},
        "fields": {"job0": {"duration": 3, "prompt": "a kite over the sea"}},
        "values": ["rating"],
        "plan_code": CODE,
        "title": "text-to-video: animal x resolution",
        "axes": ("animal", "resolution"),
        "numbers": NUMBERS,
        **changed,
    }
    return export(where=where, fetch=source, **arguments)  # type: ignore[arg-type]
