"""Run a scorer in batches on an executor, and continue when a worker dies."""

from __future__ import annotations

import math
import os
import pickle
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    wait,
)
from dataclasses import dataclass
from multiprocessing import get_start_method
from numbers import Real
from pathlib import Path
from typing import Any

from mediakit.errors import InputError

TRIES_ALONE = 2
LONGEST_PROBLEM = 300
TAKEN = {"job_id", "problem"}
NUMBERS = "a number, or a dict of numbers by name"
DIED = f"The worker process died {TRIES_ALONE} times while it scored only this output."


@dataclass(frozen=True)
class Item:
    """A file to score.

    Args:
        sha256: The hash of its content, in hex.
        path: Its path on this machine.
    """

    sha256: str
    path: Path


@dataclass(frozen=True)
class Answer:
    """The scorer's numbers for a file, or the reason why there are none.

    Args:
        values: The numbers by name; None if the scorer failed.
        problem: Why it failed; None if it did not.
    """

    values: dict[str, float] | None
    problem: str | None = None


Scorer = Callable[[Path], Any]
OnBatch = Callable[[Sequence[Item], Sequence[Answer]], object]


def score_files(
    fn: Scorer, paths: Sequence[str], attempt: int = 0
) -> list[tuple[dict[str, float] | None, str | None]]:
    """Score files one after another; workers run this function.

    Args:
        fn: The scorer.
        paths: The files.
        attempt: The number of the attempt. An executor that caches calls by their
            arguments, such as Dask's, then runs the next attempt.

    Returns:
        The numbers of each file, or None and the problem.
    """
    return [_score_file(fn, Path(path)) for path in paths]


def _score_file(fn: Scorer, path: Path) -> tuple[dict[str, float] | None, str | None]:
    try:
        return _numbers(fn(path), fn), None
    except Exception as error:  # noqa: BLE001 - it is the problem of one cell
        return None, problem_of(error)


def problem_of(error: BaseException) -> str:
    """Format an error as the problem of a cell."""
    text = f"{type(error).__name__}: {error}".strip().removesuffix(":")
    return text if len(text) <= LONGEST_PROBLEM else f"{text[:LONGEST_PROBLEM]}…"


def _numbers(result: object, fn: Scorer) -> dict[str, float]:
    if isinstance(result, Mapping):
        for name in TAKEN & result.keys():
            raise ValueError(f"the scorer names a number {name!r}; that name is taken")
        return {str(name): _number(value) for name, value in result.items()}
    return {column_of(fn): _number(result)}


def _number(value: object) -> float:
    if value is None:
        return math.nan
    if not isinstance(value, Real):
        raise TypeError(f"the scorer returned {value!r}, accepted: {NUMBERS}")
    return float(value)


def column_of(fn: Scorer) -> str:
    """Return the column of a scorer that returns one number: its name."""
    inner = getattr(fn, "func", fn)  # of a partial function
    name = str(getattr(inner, "__name__", type(inner).__name__))
    return name if name.isidentifier() else "score"


def check_sendable(fn: Scorer, executor: Executor) -> None:
    """Raise an error for a scorer that the processes of a pool cannot import.

    Raises:
        InputError: It cannot be sent to them.
    """
    if not isinstance(executor, ProcessPoolExecutor):
        return  # threads share it, and Dask can send more than other pools
    accepted = "a function at the top level of a module that other processes can import"
    try:
        pickle.dumps(fn)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        got = f"{column_of(fn)} ({error})"
        raise InputError("fn", got=got, accepted=accepted) from None
    is_of_a_cell = getattr(fn, "__module__", "") == "__main__" and not hasattr(
        sys.modules["__main__"], "__file__"
    )
    if is_of_a_cell and _start_method(executor) != "fork":
        got = f"{column_of(fn)}, which is defined in a notebook cell"
        raise InputError("fn", got=got, accepted=f"{accepted} (%%writefile makes one)")


def _start_method(pool: ProcessPoolExecutor) -> str | None:
    context = getattr(pool, "_mp_context", None)
    return context.get_start_method() if context else get_start_method()


def score_here(
    fn: Scorer, batches: Iterable[Sequence[Item]], on_batch: OnBatch
) -> None:
    """Score in this process; an interrupt keeps the scores so far."""
    for batch in batches:
        answers: list[Answer] = []
        try:
            for item in batch:
                answers.append(Answer(*_score_file(fn, item.path)))
        finally:
            on_batch(batch[: len(answers)], answers)


def score_on(
    executor: Executor, fn: Scorer, batches: Iterable[Sequence[Item]], on_batch: OnBatch
) -> None:
    """Score on the workers of an executor, one task per batch.

    A batch whose worker died is scored again at the end, one item at a time, so that a
    file that kills workers is found and does not affect the others. A broken process
    pool is replaced by a new one of the same size.

    Args:
        executor: Any executor; it is not shut down.
        fn: The scorer.
        batches: What to score; read as capacity becomes available.
        on_batch: Called with each batch and its answers, in the order of completion.
    """
    run = _Run(executor, fn, on_batch)
    try:
        run.score(batches)
    except KeyboardInterrupt:
        run.keep_what_ended()
        raise
    finally:
        run.close()


class _Run:
    """The batches of one call that are in flight."""

    def __init__(self, executor: Executor, fn: Scorer, on_batch: OnBatch) -> None:
        self._executor = executor
        self._own: ProcessPoolExecutor | None = None
        self._fn = fn
        self._on_batch = on_batch
        self._most = _most_in_flight(executor)
        self._running: dict[Future[Any], Sequence[Item]] = {}
        self._suspects: list[Item] = []

    def score(self, batches: Iterable[Sequence[Item]]) -> None:
        for batch in batches:
            self._running[self._submit(batch)] = batch
            self._collect(timeout_s=0 if len(self._running) < self._most else None)
        while self._running:
            self._collect(timeout_s=None)
        for item in self._suspects:
            self._on_batch([item], [self._alone(item)])

    def _submit(self, batch: Sequence[Item], attempt: int = 0) -> Future[Any]:
        paths = [str(item.path) for item in batch]
        try:
            return self._executor.submit(score_files, self._fn, paths, attempt)
        except BrokenExecutor:
            if not isinstance(self._executor, ProcessPoolExecutor):
                raise
            self._executor = self._replaced(self._executor)
            return self._executor.submit(score_files, self._fn, paths, attempt)

    def _replaced(self, broken: ProcessPoolExecutor) -> ProcessPoolExecutor:
        self.close()
        self._own = ProcessPoolExecutor(
            getattr(broken, "_max_workers", None),
            getattr(broken, "_mp_context", None),
            getattr(broken, "_initializer", None),
            getattr(broken, "_initargs", ()),
        )
        return self._own

    def _collect(self, timeout_s: float | None) -> None:
        ended, _ = wait(self._running, timeout_s, FIRST_COMPLETED)
        for future in ended:
            batch = self._running.pop(future)
            answers = _answers(future, len(batch))
            if answers is None:
                self._suspects.extend(batch)
            else:
                self._on_batch(batch, answers)

    def _alone(self, item: Item) -> Answer:
        for attempt in range(1, TRIES_ALONE + 1):
            answers = _answers(self._submit([item], attempt), 1)
            if answers is not None:
                return answers[0]
        return Answer(None, DIED)

    def keep_what_ended(self) -> None:
        """Submit nothing more, and collect finished batches."""
        for future in self._running:
            future.cancel()
        self._running = {f: b for f, b in self._running.items() if _has_result(f)}
        if self._running:
            self._collect(timeout_s=0)

    def close(self) -> None:
        """Shut down the pool of this run; the caller's executor is not shut down."""
        if self._own is not None:
            self._own.shutdown(wait=False, cancel_futures=True)


def _most_in_flight(executor: Executor) -> float:
    if isinstance(executor, ProcessPoolExecutor | ThreadPoolExecutor):
        # Enough to keep all workers busy, but few to repeat if a pool breaks.
        return 1 + int(getattr(executor, "_max_workers", None) or os.cpu_count() or 1)
    return math.inf


def _has_result(future: Future[Any]) -> bool:
    return future.done() and not future.cancelled() and future.exception() is None


def _answers(future: Future[Any], many: int) -> list[Answer] | None:
    """Return the answers of a batch; None if its worker died."""
    try:
        return [Answer(*answer) for answer in future.result()]
    except Exception as error:  # noqa: BLE001 - it ends a batch, never the others
        if isinstance(error, BrokenExecutor) or type(error).__name__ == "KilledWorker":
            return None
        return [Answer(None, problem_of(error))] * many
