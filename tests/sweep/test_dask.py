"""Scoring on a local Dask cluster: the same numbers, and what a dead worker costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import dask
import pandas as pd
import pytest
from distributed import Client, LocalCluster

from mediakit.errors import InputError
from mediakit.sweep.scorers import quality
from mediakit.sweep.scoring import Output, score_outputs
from mediakit.sweep.scoring.workers import DIED
from tests.sweep.clips import noise, write_clip
from tests.sweep.made_scorers import dies_of_killers, dies_once
from tests.sweep.test_scoring import Kept, fetch, made

pytestmark = pytest.mark.soak

CLIPS, DIFFERENT_FRAMES = 200, 20


@pytest.fixture(scope="module")
def cluster() -> Iterator[Client]:
    # A death that is not the task's fault is retried by Dask itself; here none is,
    # so that the tests see what the package does.
    settings = {
        "distributed.scheduler.allowed-failures": 0,
        "distributed.worker.daemon": True,
    }
    with (
        dask.config.set(settings),
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            dashboard_address=":0",
            silence_logs=50,
        ) as local,
        Client(local) as client,
    ):
        yield client


def clips(folder: Path) -> list[Output]:
    """Write clips of 64 x 64 pixels and 8 frames, all different."""
    frames = [noise(seed, cell_px=4) for seed in range(DIFFERENT_FRAMES)]
    outputs = []
    for number in range(CLIPS):
        chosen = [frames[(number + n * n) % DIFFERENT_FRAMES] for n in range(8)]
        path = write_clip(folder / f"{number}.mp4", chosen, crf=10 + number // 20)
        outputs.append(Output(f"job{number}", str(path)))
    return outputs


def test_two_workers_give_the_numbers_that_one_process_gives(
    cluster: Client, tmp_path: Path
) -> None:
    outputs = clips(tmp_path)
    here = score_outputs(outputs, quality, fetch=fetch)
    there = score_outputs(
        outputs, quality, fetch=fetch, executor=cluster.get_executor()
    )

    pd.testing.assert_frame_equal(there, here)
    assert here["problem"].isna().all()
    assert here["sharpness"].nunique() > CLIPS // 2


def test_a_worker_that_is_killed_costs_its_batch_alone(
    cluster: Client, tmp_path: Path
) -> None:
    contents = {f"job{n:02}": str(n) for n in range(60)}
    contents["once"] = "once"
    outputs = made(tmp_path, contents)
    (tmp_path / "notes").mkdir()
    kept = Kept()
    frame = score_outputs(
        outputs,
        dies_once,
        fetch=fetch,
        executor=cluster.get_executor(),
        batch=10,
        store=kept,
    )

    begun = Counter(path.stem for path in (tmp_path / "notes").iterdir())
    assert frame["problem"].isna().all()
    assert frame["dies_once"].tolist() == [len(text) for text in contents.values()]
    assert len(kept.rows) == 61
    assert begun["once"] == 2


def test_a_file_that_kills_every_worker_is_found(
    cluster: Client, tmp_path: Path
) -> None:
    contents = {"one": "a", "killer": "k", "two": "bb"}
    frame = score_outputs(
        made(tmp_path, contents),
        dies_of_killers,
        fetch=fetch,
        executor=cluster.get_executor(),
    ).set_index("job_id")

    assert frame["problem"].dropna().to_dict() == {"killer": DIED}
    assert frame["dies_of_killers"].dropna().to_dict() == {"one": 1, "two": 2}


def test_a_function_of_a_notebook_cell_travels_to_dask(
    cluster: Client, tmp_path: Path
) -> None:
    executor = cluster.get_executor()
    outputs = made(tmp_path, {"one": "abc"})
    frame = score_outputs(
        outputs, lambda path: len(path.read_text()), fetch=fetch, executor=executor
    )

    assert frame["score"].tolist() == [3]


def test_the_client_itself_is_no_executor(cluster: Client) -> None:
    with pytest.raises(InputError, match=r"get_executor\(\)"):
        score_outputs([], quality, fetch=fetch, executor=cluster)  # type: ignore[arg-type]
