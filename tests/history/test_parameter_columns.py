"""The history's frame with parameters, runtimes and ratings as columns."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from mediakit import AsyncClient, Client
from mediakit.clock import VirtualClock
from mediakit.history import History, tuning
from mediakit.sandbox.server.running import RunningSandbox
from tests.support.frames import TEXT
from tests.support.submissions import HERE, completed, job, submission

MINE: dict[str, Any] = {**HERE}


def frame_of(history: History, *bodies: dict[str, Any]) -> pd.DataFrame:
    """Return the frame of requests with these bodies, the first in its first row."""
    for number, body in reversed(list(enumerate(bodies))):
        name = f"k{number}"
        history.claim(submission(name, draw_key=name, body=json.dumps(body).encode()))
    return history.frame(params=True)


def listed(column: Any) -> list[Any]:
    return [None if pd.isna(value) else value for value in column]


@pytest.mark.parametrize("place", ["sqlite", "postgres"], indirect=True)
def test_each_parameter_is_a_typed_column_of_its_own(history: History) -> None:
    frame = frame_of(
        history,
        {"duration": 5, "cfg": 0.5, "audio": True, "resolution": "720p"},
        {"duration": 10, "cfg": 1, "text": "x" * 65, "images": ["a", {"b": 1}]},
        {"seed": 2**63, "audio": None},
    )
    assert listed(frame["duration"]) == [5, 10, None]
    assert listed(frame["cfg"]) == [0.5, 1.0, None]
    assert listed(frame["audio"]) == [True, None, None]
    assert listed(frame["resolution"]) == ["720p", None, None]
    assert listed(frame["text"]) == [None, "x" * 65, None]
    assert listed(frame["images"]) == [None, '["a", {"b": 1}]', None]
    assert listed(frame["seed"]) == [None, None, float(2**63)]
    kinds = {name: str(frame[name].dtype) for name in frame.columns[-7:]}
    assert kinds == {
        "audio": "boolean",
        "cfg": "float64",
        "duration": "Int64",
        "images": TEXT,
        "resolution": "category",
        "seed": "float64",
        "text": TEXT,
    }


def test_a_parameter_with_both_numbers_and_texts_is_text(
    history: History,
) -> None:
    frame = frame_of(history, {"duration": 5}, {"duration": "auto"})
    assert listed(frame["duration"]) == ["5", "auto"]
    assert str(frame["duration"].dtype) == "category"


def test_a_parameter_with_the_name_of_a_column_gets_another_one(
    history: History,
) -> None:
    frame = frame_of(
        history, {"take": 7, "rating": "PG", "param_take": 8, "prompt": "a kite"}
    )
    assert listed(frame["take"]) == [1]
    assert (listed(frame["param_take"]), listed(frame["param_param_take"])) in (
        ([7], [8]),
        ([8], [7]),
    )
    assert listed(frame["param_rating"]) == ["PG"]
    assert "param_prompt" not in frame.columns  # the prompt is a column already


def test_the_webhook_url_is_not_a_column(history: History) -> None:
    frame = frame_of(history, {"webhook_url": "https://a.example/?token=secret"})
    assert "webhook_url" not in frame.columns
    assert "secret" not in frame.to_csv()


def test_runtime_and_ratings_are_columns_beside_the_parameters(
    history: History, clock: VirtualClock
) -> None:
    history.claim(submission("k1", sweep="3f2a"))
    history.claim(submission("k2", draw_key="d2"))
    history.record_job("k1", job("running"))
    asyncio.run(clock.advance(12.5))
    history.record_job("k1", completed())
    tuning.judge(history, **MINE, job_id="media_1", rating=4, keep=True)

    frame = history.frame(params=True).set_index("key")
    names = ["runtime_s", "rating", "keep", "sweep"]
    assert listed(frame[names].loc["k1"]) == [12.5, 4, True, "3f2a"]
    assert listed(frame[names].loc["k2"]) == [None] * 4
    kinds = {name: str(frame[name].dtype) for name in ("runtime_s", "rating", "keep")}
    assert kinds == {"runtime_s": "float64", "rating": "Int8", "keep": "boolean"}


def test_the_frame_of_a_client_is_grouped_by_a_parameter(
    client: Client, sandbox: RunningSandbox, tmp_path: Path
) -> None:
    for resolution in ("720p", "1080p"):
        client.submit(
            "text-to-video", prompt="grouped", duration=3, resolution=resolution
        )
    frame = client.history.frame(params=True)
    costs = frame.groupby("resolution", observed=True)["estimate_high_micro_usd"].sum()
    assert costs["1080p"] > costs["720p"] > 0

    async def awaited() -> pd.DataFrame:
        async with AsyncClient(
            sandbox.base_url, sandbox.api_key, home=tmp_path / "home"
        ) as core:
            return await core.history.frame(params=True)

    assert list(asyncio.run(awaited()).columns) == list(frame.columns)
