"""Score outputs with a function, in this process or on the workers of an executor.

Scores are stored by the output's hash and the scorer's name and version, batch by
batch, so that a run that was killed or interrupted continues where it ended.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from mediakit.errors import InputError
from mediakit.history.tuning import Score
from mediakit.sweep.scoring.scores import (
    Fetch,
    NoScoreStore,
    Output,
    ScoreStore,
    identity_of,
)
from mediakit.sweep.scoring.workers import (
    Answer,
    Item,
    Scorer,
    check_sendable,
    problem_of,
    score_here,
    score_on,
)

if TYPE_CHECKING:
    import pandas as pd

BATCH = 25
FETCHED_AT_ONCE = 8
EXECUTORS = (
    "a concurrent.futures.Executor, such as ProcessPoolExecutor() or "
    "get_executor() of a dask.distributed.Client (pip install 'mediakit[dask]')"
)


OnProgress = Callable[[int, int], object]


def ignore_progress(done: int, of: int) -> None:
    """Report no progress."""


def score_outputs(
    outputs: Sequence[Output],
    fn: Scorer,
    *,
    fetch: Fetch,
    executor: Executor | None = None,
    batch: int = BATCH,
    store: ScoreStore | None = None,
    on_progress: OnProgress = ignore_progress,
) -> pd.DataFrame:
    """Score outputs, each content once.

    If the scorer raises, the error is recorded for that output and the others continue.
    A batch whose worker died is scored again, one output at a time. After an interrupt,
    the next call scores only the outputs of unfinished batches.

    Args:
        outputs: The outputs to score.
        fn: Takes the path of a file and returns a number, or a dict of numbers by
            name; None is unknown. A process pool must be able to import it: use a
            function at the top level of a module. Scores are stored under its name and
            version: `fn.version`, or else a hash of its own source and of the numbers
            and texts that it uses, which does not change with the functions that it
            calls. A closure over other objects, or an object with attributes, is
            scored again by each call unless it has a `version`.
        fetch: Returns an output as a local file; called on several threads. Workers
            must be able to read it: an executor on other machines needs a shared
            folder.
        executor: Where to score; None for this process. It is not shut down. A pool
            that forks a process with threads may hang: use a ProcessPoolExecutor with
            `mp_context=multiprocessing.get_context("forkserver")`.
        batch: The number of outputs per task.
        store: Where scores are looked up, and stored after each batch; None for
            nowhere.
        on_progress: Called with the number of outputs done and the total.

    Returns:
        One row per output, in the given order: job_id (string), one column per number
        (float64, NaN if unknown), problem (string, missing if none).

    Raises:
        InputError: An argument is not acceptable; nothing was scored.
    """
    _check(fn, executor, batch)
    store = NoScoreStore() if store is None else store
    scoring = _Scoring(outputs, fn, store, on_progress)
    batches = scoring.batches(fetch, batch)
    if executor is None:
        score_here(fn, batches, scoring.record)
    else:
        score_on(executor, fn, batches, scoring.record)
    return scoring.frame()


def _check(fn: object, executor: object, batch: object) -> None:
    if not callable(fn):
        accepted = "a function that takes a path and returns numbers"
        raise InputError("fn", got=fn, accepted=accepted)
    if not (executor is None or isinstance(executor, Executor)):
        raise InputError("executor", got=executor, accepted=EXECUTORS)
    if isinstance(batch, bool) or not isinstance(batch, int) or batch < 1:
        raise InputError("batch", got=batch, accepted="a whole number from 1")
    if executor is not None:
        check_sendable(fn, executor)


class _Scoring:
    """The state of one call.

    An output is identified by its hash, or by its job until it has been fetched.
    """

    def __init__(
        self,
        outputs: Sequence[Output],
        fn: Scorer,
        store: ScoreStore,
        on_progress: OnProgress,
    ) -> None:
        self._outputs = list(outputs)
        self._name, self._version = identity_of(fn)
        self._hashes, self._on_progress = store, on_progress
        self._store = store if self._version is not None else NoScoreStore()
        self._answers: dict[str, Answer] = {}  # by hash
        self._sha256s: dict[str, str] = {}  # by job, if it was not known before
        self._unfetched: dict[str, str] = {}  # the reason, by hash or by job
        self._sent: set[str] = set()
        self._look_up([o.sha256 for o in self._outputs if o.sha256])

    def _look_up(self, sha256s: Sequence[str]) -> None:
        if sha256s:
            found = self._store.known(sha256s, self._name, self._version or "")
            self._answers |= {
                key: Answer(dict(values)) for key, values in found.items()
            }
        self._report()

    def _report(self) -> None:
        done = sum(self._answer(output) is not None for output in self._outputs)
        self._on_progress(done, len(self._outputs))

    def _answer(self, output: Output) -> Answer | None:
        key = output.sha256 or output.job_id
        if key in self._unfetched:
            return Answer(None, self._unfetched[key])
        return self._answers.get(self._sha256s.get(key, key))

    def batches(self, fetch: Fetch, size: int) -> Iterator[list[Item]]:
        """Fetch the outputs without a score, and yield each content once."""
        due = {o.sha256 or o.job_id: o for o in self._outputs if not self._answer(o)}
        outputs = list(due.values())
        for begin in range(0, len(outputs), size):
            items = self._fetched(outputs[begin : begin + size], fetch)
            new = {i.sha256: i for i in items if i.sha256 not in self._answers}
            batch = [item for key, item in new.items() if key not in self._sent]
            self._sent.update(new)
            if batch:
                yield batch

    def _fetched(self, outputs: Sequence[Output], fetch: Fetch) -> list[Item]:
        with ThreadPoolExecutor(FETCHED_AT_ONCE) as threads:
            fetched = list(threads.map(partial(_fetch_item, fetch), outputs))
        items = []
        for output, item in zip(outputs, fetched, strict=True):
            if isinstance(item, str):
                self._unfetched[output.sha256 or output.job_id] = item
                continue
            items.append(item)
            if output.sha256 is None:
                self._sha256s[output.job_id] = item.sha256
                self._hashes.hashed(output.job_id, item.sha256)
        self._look_up([i.sha256 for i in items if i.sha256 not in self._sent])
        return items

    def record(self, batch: Sequence[Item], answers: Sequence[Answer]) -> None:
        """Store the scores of a batch."""
        if not batch:
            return
        pairs = [(i.sha256, a) for i, a in zip(batch, answers, strict=True)]
        self._answers.update(pairs)
        named = (self._name, self._version or "")
        self._store.save([Score(sha, *named, a.values, a.problem) for sha, a in pairs])
        self._report()

    def frame(self) -> pd.DataFrame:
        """Return one row for each output."""
        import numpy as np
        import pandas as pd

        answers = [self._answer(output) or Answer(None) for output in self._outputs]
        found = [answer.values or {} for answer in answers]
        names = dict.fromkeys(name for values in found for name in values)
        numbers = {n: [_float(values.get(n)) for values in found] for n in names}
        return pd.DataFrame(
            {
                "job_id": pd.array([o.job_id for o in self._outputs], dtype="string"),
                **{n: np.array(column, "float64") for n, column in numbers.items()},
                "problem": pd.array([a.problem for a in answers], dtype="string"),
            }
        )


def _float(value: float | None) -> float:
    return math.nan if value is None else float(value)


def _fetch_item(fetch: Fetch, output: Output) -> Item | str:
    """Return a fetched output, or the reason why it could not be fetched."""
    try:
        path = Path(fetch(output))
        if output.sha256 is not None:
            return Item(output.sha256, path)
        with path.open("rb") as file:
            return Item(hashlib.file_digest(file, "sha256").hexdigest(), path)
    except Exception as error:  # noqa: BLE001 - it is the problem of one cell
        return f"It could not be fetched: {problem_of(error)}"
