"""Scoring on a local Dask cluster: the same numbers, even if a worker dies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dask
import pandas as pd
import pytest
from distributed import Client as DaskClient
from distributed import LocalCluster

from mediakit.errors import InputError
from mediakit.sweep.scorers import quality
from mediakit.sweep.scoring import DIED
from tests.sweep.clips import noise, write_clip
from tests.sweep.made_scorers import DiesOnce
from tests.sweep.service import Service
from tests.sweep.test_scoring import made

pytestmark = pytest.mark.soak

CLIPS = [f"clip {number}" for number in range(24)]


@contextmanager
def cluster(**more: Any) -> Iterator[DaskClient]:
    """Start a cluster; what is sent to its workers is copied, as between machines."""
    # Dask retries tasks whose worker died; this is disabled so that the tests see
    # mediakit's own retries.
    settings = {
        "distributed.scheduler.allowed-failures": 0,
        "distributed.comm.timeouts.connect": "240s",  # on a busy machine
        "distributed.worker.daemon": True,
        "distributed.worker.profile.enabled": False,
    }
    local: dict[str, Any] = {
        "threads_per_worker": 1,
        "dashboard_address": "127.0.0.1:0",
    }
    with (
        dask.config.set(settings),
        LocalCluster(protocol="tcp://", silence_logs=50, **local, **more) as started,
        DaskClient(started) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def dask_client() -> Iterator[DaskClient]:
    with cluster(n_workers=2, processes=False) as client:
        yield client


def test_two_workers_give_the_numbers_that_one_process_gives(
    dask_client: DaskClient, tmp_path: Path
) -> None:
    def clip(prompt: str) -> bytes:
        frames = [noise(CLIPS.index(prompt) * 8 + n, cell_px=4) for n in range(8)]
        return write_clip(tmp_path / "clip.mp4", frames).read_bytes()

    executor = dask_client.get_executor()
    with Service(file_of=clip).client(tmp_path / "home") as client:
        results = made(client, *CLIPS)
        there = results.score(quality, executor, version="there")
        pd.testing.assert_frame_equal(results.score(quality), there)
    assert there["problem"].isna().all()
    assert there["sharpness"].nunique() == len(CLIPS)


def test_a_file_that_kills_workers_is_found_and_costs_no_other_its_score(
    tmp_path: Path,
) -> None:
    notes, names = tmp_path / "notes", [f"file{n:02}" for n in range(30)]
    notes.mkdir()
    with (
        Service().client(tmp_path / "home") as client,
        cluster(n_workers=1) as dask_client,
    ):
        results = made(client, *names[:10], "killer", *names[10:])
        scorer = DiesOnce(str(notes))
        scored = results.score(scorer, dask_client.get_executor())
    scored.index = pd.Index([*names[:10], "killer", *names[10:]])

    assert scored["problem"].dropna().to_dict() == {"killer": DIED}
    assert scored["DiesOnce"].dropna().tolist() == [6] * 30
    begun = Counter(path.stem for path in notes.iterdir())
    assert begun["killer"] == 3
    # Dask computes results again that a dead worker still held: once for each death.
    assert max(begun[name] for name in names) <= 1 + begun["killer"]


def test_a_judge_of_a_notebook_cell_travels_to_dask_with_its_rows(
    dask_client: DaskClient, tmp_path: Path
) -> None:
    words: Any = {"kite": 5}
    with Service().client(tmp_path / "home") as client:
        scored = made(client, "kite", "gull").score(
            lambda path, row: words.get(row["prompt"], 1), dask_client.get_executor()
        )
    assert scored["score"].tolist() == [5, 1]


def test_the_client_itself_is_no_executor(
    dask_client: DaskClient, tmp_path: Path
) -> None:
    with (
        Service().client(tmp_path / "home") as client,
        pytest.raises(InputError, match=r"get_executor\(\)"),
    ):
        made(client, "kite").score(quality, dask_client)  # type: ignore[arg-type]
