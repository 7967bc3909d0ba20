"""Scoring outputs: what is scored, what is kept, and what a failure costs."""

from __future__ import annotations

import hashlib
import multiprocessing
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import (
    BrokenExecutor,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
)
from functools import partial
from pathlib import Path
from threading import Event
from types import ModuleType

import numpy as np
import pandas as pd
import pytest

from mediakit.errors import InputError
from mediakit.sweep.scoring import Output, Score, identity_of, score_outputs
from mediakit.sweep.scoring.workers import DIED
from tests.sweep.made_scorers import (
    FileStore,
    dies_of_killers,
    dies_once,
    first_byte,
    score_in_process,
    size_bytes,
)


class Kept:
    """Scores and hashes in memory."""

    def __init__(self) -> None:
        self.rows: list[Score] = []
        self.sha256s: dict[str, str] = {}
        self.saves: list[int] = []

    def known(
        self, sha256s: Sequence[str], scorer: str, version: str
    ) -> dict[str, Mapping[str, float]]:
        return {
            row.sha256: row.values
            for row in self.rows
            if row.sha256 in sha256s and (row.scorer, row.version) == (scorer, version)
            if row.values is not None
        }

    def save(self, scores: Sequence[Score]) -> None:
        self.rows.extend(scores)
        self.saves.append(len(scores))

    def hashed(self, job_id: str, sha256: str) -> None:
        self.sha256s[job_id] = sha256


def fetch(output: Output) -> Path:
    return Path(output.source)


def made(folder: Path, contents: Mapping[str, str]) -> list[Output]:
    """Write a file for each job."""
    for job_id, content in contents.items():
        (folder / job_id).write_text(content)
    return [Output(job_id, str(folder / job_id)) for job_id in contents]


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


# In one process of the tests: the server that forks takes seconds to start.
forks = pytest.mark.xdist_group("forks")


@pytest.fixture(params=["here", "threads", pytest.param("processes", marks=forks)])
def executor(request: pytest.FixtureRequest) -> Iterator[Executor | None]:
    if request.param == "here":
        yield None
        return
    if request.param == "threads":
        with ThreadPoolExecutor(2) as threads:
            yield threads
        return
    yield request.getfixturevalue("pool")


@pytest.fixture(scope="module")
def pool() -> Iterator[ProcessPoolExecutor]:
    """Share the processes of tests that do not end them."""
    with forked() as workers:
        yield workers


def forked(workers: int = 2) -> ProcessPoolExecutor:
    """Start a pool and all its workers.

    Where a worker dies while another one is being started, Python 3.11 waits for ever.
    """
    context = multiprocessing.get_context("forkserver")
    pool = ProcessPoolExecutor(workers, mp_context=context)
    list(pool.map(abs, range(workers)))
    return pool


def test_every_output_has_a_row_in_the_order_given(
    tmp_path: Path, executor: Executor | None
) -> None:
    contents = {f"job{n}": "a" * (n + 1) for n in range(60)}
    frame = score_outputs(
        made(tmp_path, contents), first_byte, fetch=fetch, executor=executor, batch=7
    )

    assert list(frame.columns) == ["job_id", "first", "length", "problem"]
    assert list(frame["job_id"]) == list(contents)
    assert list(frame["length"]) == [float(n + 1) for n in range(60)]
    assert set(frame["first"]) == {97.0}
    assert frame["problem"].isna().all()


def test_the_columns_have_their_types_without_a_row() -> None:
    frame = score_outputs([], first_byte, fetch=fetch)

    assert list(frame.columns) == ["job_id", "problem"]
    assert len(frame) == 0


def test_a_scorer_that_raises_marks_its_cell_alone(
    tmp_path: Path, executor: Executor | None
) -> None:
    kept = Kept()
    outputs = made(tmp_path, {"good": "abc", "bad": "xyz", "fine": "de"})
    frame = score_outputs(
        outputs, first_byte, fetch=fetch, executor=executor, store=kept
    )

    assert frame["problem"].tolist()[1] == "ValueError: it begins with an x"
    assert frame["problem"].isna().tolist() == [True, False, True]
    assert frame["length"].tolist()[::2] == [3.0, 2.0]
    assert np.isnan(frame["length"][1])
    assert frame.dtypes.astype(str).to_dict() == {
        "job_id": "string",
        "first": "float64",
        "length": "float64",
        "problem": "string",
    }
    errors = {row.sha256: row.error for row in kept.rows}
    assert errors[sha256("xyz")] == "ValueError: it begins with an x"


def test_one_number_is_named_like_its_scorer(tmp_path: Path) -> None:
    outputs = made(tmp_path, {"job": "abcd"})

    assert score_outputs(outputs, size_bytes, fetch=fetch)["size_bytes"].tolist() == [4]
    frame = score_outputs(outputs, lambda path: np.float32(0.5), fetch=fetch)
    assert frame["score"].tolist() == [0.5]


@pytest.mark.parametrize(
    ("result", "problem"),
    [
        ("sharp", "TypeError: the scorer returned 'sharp', accepted: a number"),
        ({"a": [1]}, r"TypeError: the scorer returned \[1\]"),
        ({"problem": 1}, "ValueError: the scorer names a number 'problem'"),
    ],
)
def test_what_is_no_number_is_a_problem_of_its_cell(
    tmp_path: Path, result: object, problem: str
) -> None:
    outputs = made(tmp_path, {"job": "a"})
    frame = score_outputs(outputs, lambda path: result, fetch=fetch)

    assert frame["problem"].str.match(problem).all()


def test_none_is_an_unknown_number(tmp_path: Path) -> None:
    outputs = made(tmp_path, {"job": "a"})
    frame = score_outputs(outputs, lambda path: {"a": None, "b": True}, fetch=fetch)

    assert np.isnan(frame["a"][0])
    assert frame["b"][0] == 1.0
    assert frame["problem"].isna().all()


def test_what_was_scored_is_neither_scored_nor_fetched_again(tmp_path: Path) -> None:
    kept = Kept()
    outputs = made(tmp_path, {"one": "a", "two": "bb"})
    first = score_outputs(outputs, size_bytes, fetch=fetch, store=kept)
    hashed = [Output(o.job_id, o.source, kept.sha256s[o.job_id]) for o in outputs]

    def never(_: object) -> Path:
        raise AssertionError

    again = score_outputs(hashed, size_bytes, fetch=never, store=kept)
    pd.testing.assert_frame_equal(again, first)
    assert len(kept.rows) == 2


def test_an_output_of_unknown_hash_is_hashed_and_then_known(tmp_path: Path) -> None:
    kept = Kept()
    outputs = made(tmp_path, {"one": "a"})
    score_outputs(outputs, size_bytes, fetch=fetch, store=kept)
    frame = score_outputs(outputs, size_bytes, fetch=fetch, store=kept)

    assert kept.sha256s == {"one": sha256("a")}
    assert frame["size_bytes"].tolist() == [1.0]
    assert len(kept.rows) == 1


def test_the_same_content_is_scored_once(tmp_path: Path) -> None:
    kept = Kept()
    contents = {"one": "same", "two": "other", "three": "same", "four": "same"}
    outputs = made(tmp_path, contents)
    outputs[3] = Output("four", outputs[3].source, sha256("same"))
    frame = score_outputs(outputs, size_bytes, fetch=fetch, batch=1, store=kept)

    assert frame["size_bytes"].tolist() == [4, 5, 4, 4]
    assert sorted(row.sha256 for row in kept.rows) == sorted(
        [sha256("same"), sha256("other")]
    )


def test_another_version_is_scored_again(tmp_path: Path) -> None:
    kept = Kept()
    outputs = made(tmp_path, {"one": "a"})

    def scorer(path: Path) -> int:
        return 7

    for version in ("1", "2", "2"):
        scorer.version = version  # type: ignore[attr-defined]
        score_outputs(outputs, scorer, fetch=fetch, store=kept)

    assert [row.version for row in kept.rows] == ["1", "2"]


def test_what_raised_is_tried_again_in_the_next_call(tmp_path: Path) -> None:
    kept = Kept()
    outputs = made(tmp_path, {"one": "a"})
    notes: list[Path] = []

    def scorer(path: Path) -> int:
        notes.append(path)
        if len(notes) == 1:
            raise OSError("for once")
        return 1

    scorer.version = "1"  # type: ignore[attr-defined]
    for _ in range(3):
        frame = score_outputs(outputs, scorer, fetch=fetch, store=kept)

    assert len(notes) == 2
    assert frame["problem"].isna().all()


def test_what_cannot_be_fetched_marks_its_cell(tmp_path: Path) -> None:
    outputs = made(tmp_path, {"one": "a", "two": "b"})
    (tmp_path / "one").unlink()
    frame = score_outputs(outputs, size_bytes, fetch=fetch)

    assert frame["problem"][0].startswith("It could not be fetched: FileNotFoundError")
    assert frame["size_bytes"][1] == 1


def test_the_scores_of_a_batch_are_kept_when_it_ends(tmp_path: Path) -> None:
    kept = Kept()
    outputs = made(tmp_path, {f"job{n}": str(n) for n in range(7)})
    score_outputs(outputs, size_bytes, fetch=fetch, batch=3, store=kept)

    assert kept.saves == [3, 3, 1]


@forks
def test_a_killed_run_continues_with_the_batch_that_it_lost(tmp_path: Path) -> None:
    contents = {f"job{n}": str(n) for n in range(9)} | {"once": "once", "job9": "9"}
    outputs, store = made(tmp_path, contents), FileStore(tmp_path / "scores")
    (tmp_path / "notes").mkdir()
    context = multiprocessing.get_context("forkserver")
    process = context.Process(target=score_in_process, args=(outputs, store))
    process.start()
    process.join()
    frame = score_outputs(outputs, dies_once, fetch=fetch, batch=4, store=store)

    assert process.exitcode == -signal.SIGKILL
    assert frame["dies_once"].tolist() == [len(text) for text in contents.values()]
    begun = Counter(path.stem for path in (tmp_path / "notes").iterdir())
    # The second batch ended before the third, in which the process died.
    assert {name for name, times in begun.items() if times > 1} == {"job8", "once"}


def test_progress_is_reported_from_what_is_known_to_all(tmp_path: Path) -> None:
    kept, told = Kept(), []
    outputs = made(tmp_path, {f"job{n}": str(n) for n in range(5)})
    score_outputs(outputs[:2], size_bytes, fetch=fetch, store=kept)
    outputs[:2] = [Output(o.job_id, o.source, sha256(o.job_id[3])) for o in outputs[:2]]
    score_outputs(
        outputs,
        size_bytes,
        fetch=fetch,
        batch=2,
        on_progress=lambda done, of: told.append((done, of)),
        store=kept,
    )

    assert told[0] == (2, 5)
    assert told[-1] == (5, 5)
    assert told == sorted(told)


def test_an_interrupt_keeps_what_was_scored_here(tmp_path: Path) -> None:
    kept = Kept()
    outputs = made(tmp_path, {f"job{n}": str(n) for n in range(10)})

    def scorer(path: Path) -> int:
        if path.name == "job5":
            raise KeyboardInterrupt
        return 1

    with pytest.raises(KeyboardInterrupt):
        score_outputs(outputs, scorer, fetch=fetch, batch=4, store=kept)
    assert kept.saves == [4, 1]


def test_an_interrupt_keeps_what_ended_on_workers_and_starts_no_more(
    tmp_path: Path,
) -> None:
    kept, may_end, begun = Kept(), Event(), []
    outputs = made(tmp_path, {f"job{n}": str(n) for n in range(12)})

    def scorer(path: Path) -> int:
        begun.append(path.name)
        if path.name not in ("job0", "job1"):
            may_end.wait(30)
        return 1

    scorer.version = "1"  # type: ignore[attr-defined]

    def interrupted(done: int, of: int) -> None:
        if done >= 2:
            may_end.set()
            raise KeyboardInterrupt

    with ThreadPoolExecutor(1) as threads, pytest.raises(KeyboardInterrupt):
        score_outputs(
            outputs,
            scorer,
            fetch=fetch,
            executor=threads,
            batch=2,
            on_progress=interrupted,
            store=kept,
        )
    assert len(kept.rows) >= 2
    assert len(begun) < 12


@forks
def test_a_file_that_kills_workers_costs_no_other_its_numbers(tmp_path: Path) -> None:
    contents = {f"job{n}": "a" * (n + 1) for n in range(30)} | {"killer": "k"}
    kept = Kept()
    with forked() as pool:
        frame = score_outputs(
            made(tmp_path, contents),
            dies_of_killers,
            fetch=fetch,
            executor=pool,
            batch=5,
            store=kept,
        ).set_index("job_id")

    assert frame["problem"].dropna().to_dict() == {"killer": DIED}
    numbers = frame["dies_of_killers"].drop("killer")
    assert numbers.tolist() == [float(n + 1) for n in range(30)]
    assert len(kept.rows) == 31


@forks
def test_a_worker_that_dies_costs_the_batches_in_flight(tmp_path: Path) -> None:
    contents = {f"job{n:02}": str(n) for n in range(60)}
    contents = {"once": "once", **contents}
    outputs = made(tmp_path, contents)
    (tmp_path / "notes").mkdir()
    with forked() as pool:
        frame = score_outputs(outputs, dies_once, fetch=fetch, executor=pool, batch=5)

    begun = Counter(path.stem for path in (tmp_path / "notes").iterdir())
    assert frame["problem"].isna().all()
    assert set(begun) == set(contents)
    assert begun["once"] == 2
    # Two workers and one batch in the queue: no other is repeated.
    assert sum(begun.values()) <= len(contents) + 3 * 5


def test_an_executor_that_breaks_for_good_says_so(tmp_path: Path) -> None:
    class Broken(Executor):
        def submit(self, *_: object, **__: object) -> Future[object]:  # type: ignore[override]
            raise BrokenExecutor("it is broken")

    with pytest.raises(BrokenExecutor):
        score_outputs(
            made(tmp_path, {"one": "a"}), size_bytes, fetch=fetch, executor=Broken()
        )


def test_what_a_worker_cannot_import_is_a_problem_of_each_cell(tmp_path: Path) -> None:
    class Remote(Executor):
        def submit(self, *_: object, **__: object) -> Future[object]:  # type: ignore[override]
            future: Future[object] = Future()
            future.set_exception(ModuleNotFoundError("No module named 'mine'"))
            return future

    outputs = made(tmp_path, {"one": "a", "two": "b"})
    frame = score_outputs(outputs, size_bytes, fetch=fetch, executor=Remote())

    assert set(frame["problem"]) == {"ModuleNotFoundError: No module named 'mine'"}


@pytest.mark.parametrize(
    ("field", "arguments"),
    [
        ("fn", {"fn": "sharpness"}),
        ("executor", {"executor": "dask"}),
        ("batch", {"batch": 0}),
        ("batch", {"batch": True}),
    ],
)
def test_a_wrong_argument_is_refused_before_anything_is_fetched(
    field: str, arguments: dict[str, object]
) -> None:
    def never(_: object) -> Path:
        raise AssertionError

    with pytest.raises(InputError) as caught:
        score_outputs(
            [Output("job", "nowhere")],
            **{"fn": size_bytes, "fetch": never, **arguments},  # type: ignore[arg-type]
        )
    assert caught.value.field == field


@forks
def test_a_process_pool_is_given_no_function_that_it_cannot_import(
    pool: ProcessPoolExecutor,
) -> None:
    with pytest.raises(InputError, match="top level of a module"):
        score_outputs([], lambda path: 1, fetch=fetch, executor=pool)


@forks
def test_a_process_pool_that_imports_is_given_no_function_of_a_cell(
    pool: ProcessPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    cell = ModuleType("__main__")
    exec("def sharp(path): return 1", cell.__dict__)
    monkeypatch.setitem(sys.modules, "__main__", cell)

    with pytest.raises(InputError, match=r"sharp, .* notebook cell"):
        score_outputs([], cell.sharp, fetch=fetch, executor=pool)


def test_the_version_of_a_scorer_is_its_own_or_its_source() -> None:
    name, version = identity_of(size_bytes)

    assert name == "tests.sweep.made_scorers.size_bytes"
    assert version is not None
    assert len(version) == 16
    assert version != identity_of(first_byte)[1]
    assert version == identity_of(size_bytes)[1]


def test_bound_arguments_are_part_of_the_version() -> None:
    def above(path: Path, level: int) -> int:
        return level

    versions = {identity_of(partial(above, level=level))[1] for level in (1, 2, 2)}
    assert len(versions) == 2


def test_a_scorer_without_source_asks_for_a_version() -> None:
    scope: dict[str, Callable[[Path], int]] = {}
    exec("def sourceless(path): return 1", {"__name__": "nowhere"}, scope)

    with pytest.raises(InputError, match=r"fn\.version"):
        identity_of(scope["sourceless"])
