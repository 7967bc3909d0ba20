"""Scores the outputs of a sweep with the user's function.

Scorers run in this process or on any `concurrent.futures.Executor`. Each score is
stored as soon as it is available, by the hash of the scorer's input, so that a killed
run continues where it stopped.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
import os
import pickle
import sys
import threading
import warnings
from collections.abc import (
    Callable,
    Generator,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    wait,
)
from contextlib import closing, suppress
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache, partial
from multiprocessing import get_start_method
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from mediakit.errors import InputError
from mediakit.history import History, scores
from mediakit.history.scores import REASON, Score, Value
from mediakit.money import format_usd
from mediakit.plain_numbers import whole
from mediakit.rules import ValueDescription
from mediakit.sweep.scorer_identity import (
    COST,
    TAKEN,
    column_of,
    hash_of,
    identity_of,
    is_asynchronous,
    sees_row,
)
from mediakit.table_columns import present

if TYPE_CHECKING:
    import pandas as pd

FETCHED_AT_ONCE = 8
LONGEST_PROBLEM = 300
AWAITED_AT_ONCE = 8
RESULTS = "a number, a string, or a dict that maps names to numbers or strings"
EXECUTORS = (
    "a concurrent.futures.Executor, such as ProcessPoolExecutor() or "
    "get_executor() of a dask.distributed.Client (package distributed)"
)
ON_A_LOOP = (
    "omitted for an asynchronous scorer, which is awaited on an event loop, "
    f"{AWAITED_AT_ONCE} outputs at a time"
)
IMPORTABLE = "a function at the top level of a module that other processes can import"
TRIES_ALONE = 2
DIED = f"The worker process died {TRIES_ALONE} times while scoring only this output."

Row = Mapping[str, Any]
Scorer = Callable[..., Any]
Values = Mapping[str, Value]


class Answer(NamedTuple):
    """A scorer's values for an output, or its problem; and the cost."""

    values: Values
    reason: str | None = None
    cost_micro_usd: int | None = None
    problem: str | None = None


@dataclass(frozen=True)
class ScoredOutput:
    """The output of one job: its URL, and the row that a scorer may see."""

    job_id: str
    source: str
    row: Row = field(default_factory=dict)


Fetch = Callable[[ScoredOutput], Path]


@dataclass(frozen=True)
class Item:
    """A downloaded output, identified by the hash of what the scorer sees."""

    job_id: str
    key: str
    path: Path
    row: Row | None


def score_outputs(
    outputs: Sequence[ScoredOutput],
    fn: Scorer,
    *,
    fetch: Fetch,
    history: History,
    owner: Mapping[str, str],
    executor: Executor | None = None,
    version: str | None = None,
    loop: asyncio.AbstractEventLoop | None = None,
) -> pd.DataFrame:
    """Score outputs, each once; an exception is only its output's problem.

    `fetch` downloads an output to a local file, on several threads; the executor is not
    shut down. An asynchronous scorer is awaited on `loop`, which must run in another
    thread, or on a loop that all calls share. See `AsyncResults.score`.
    """
    takes_row = sees_row(fn)
    _check_executor(executor, fn)
    name, stored_version = identity_of(fn, version)
    if stored_version is None:
        warnings.warn(
            f"{column_of(fn)} uses objects whose values its source does not show, so "
            "its scores cannot be reused: every call scores all outputs again. Give it "
            "a version, such as score(..., version='1').",
            stacklevel=4,
        )
    if is_asynchronous(fn):
        executor = _OnLoop(loop or _scorer_loop(os.getpid()))
    run = _Run(outputs, name, stored_version, takes_row, fetch, history, owner)
    run.look_up()
    paid_micro_usd = run.unanswered_cost_micro_usd()
    if paid_micro_usd:
        paid = format_usd(paid_micro_usd)
        warnings.warn(
            f"{column_of(fn)} is asked again, and may charge again, about outputs for "
            f"which it charged {paid} without a usable answer.",
            stacklevel=4,
        )
    with (
        closing(run.items()) as items,
        closing(_answers(executor or _Here(), fn, items)) as answers,
    ):
        for item, answer in answers:
            run.record(item, answer)
    run.reuse()
    scored = run.frame()
    if len(scored) and scored["problem"].notna().all():
        count = len(scored)
        where = "the only output" if count == 1 else f"all {count:,} outputs"
        first = scored["problem"].iloc[0]
        message = f"{column_of(fn)} failed on {where}, so there are no scores: {first}"
        warnings.warn(message, stacklevel=4)
    lost = scored.loc[scored["problem"].notna(), COST].dropna()
    if lost.sum():
        paid = format_usd(int(lost.sum()))
        these = "an answer" if len(lost) == 1 else f"{len(lost):,} answers"
        warnings.warn(
            f"{column_of(fn)} charged {paid} for {these} that cannot be used. Scoring "
            "again asks, and pays, again.",
            stacklevel=4,
        )
    return scored


def _check_executor(executor: object, fn: Scorer) -> None:
    if not (executor is None or isinstance(executor, Executor)):
        raise InputError("executor", got=executor, accepted=EXECUTORS)
    if executor is not None and is_asynchronous(fn):
        raise InputError("executor", got=executor, accepted=ON_A_LOOP)
    if not isinstance(executor, ProcessPoolExecutor):
        return  # threads share the scorer, and Dask can send more than other pools
    try:
        pickle.dumps(fn)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        got = ValueDescription(f"{column_of(fn)} ({error})")
        raise InputError("fn", got=got, accepted=IMPORTABLE) from None
    is_of_a_cell = getattr(fn, "__module__", "") == "__main__" and not hasattr(
        sys.modules["__main__"], "__file__"
    )
    context = getattr(executor, "_mp_context", None)
    method = context.get_start_method() if context else get_start_method()
    if is_of_a_cell and method != "fork":
        got = ValueDescription(f"{column_of(fn)}, which is defined in a notebook cell")
        accepted = f"{IMPORTABLE} (%%writefile makes one)"
        raise InputError("fn", got=got, accepted=accepted)


@dataclass
class _Run:
    """One call: its outputs, the scorer's identity, and the answers."""

    outputs: Sequence[ScoredOutput]
    scorer: str
    version: str | None
    takes_row: bool
    fetch: Fetch
    history: History
    owner: Mapping[str, str]
    keys: dict[str, str] = field(default_factory=dict)  # by job
    answers: dict[str, Answer] = field(default_factory=dict)  # by key, or by job
    asked: set[str] = field(default_factory=set)  # the jobs that were scored now

    def look_up(self) -> None:
        """Find the stored answers for outputs that were scored before."""
        job_ids = [output.job_id for output in self.outputs]
        sha256s = scores.sha256s(self.history, job_ids, **self.owner)
        for output in self.outputs:
            if output.job_id in sha256s:
                self.keys[output.job_id] = self._key(output, sha256s[output.job_id])
        self._look_up(self.keys.values())

    def unanswered_cost_micro_usd(self) -> int:
        """Return the cost of earlier unusable answers for outputs that are due."""
        if self.version is None:
            return 0
        due = {j: key for j, key in self.keys.items() if key not in self.answers}
        return scores.unanswered_cost_micro_usd(
            self.history, due, self.scorer, self.version, **self.owner
        )

    def items(self) -> Generator[Item]:
        """Download the outputs without a score, and yield distinct ones."""
        due = {
            output.job_id: output
            for output in self.outputs
            if self.keys.get(output.job_id) not in self.answers
        }
        begun: set[str] = set()
        threads = ThreadPoolExecutor(FETCHED_AT_ONCE)
        try:
            fetched = threads.map(self._fetched, due.values())
            for output, path in zip(due.values(), fetched, strict=True):
                if isinstance(path, str):
                    self.answers[output.job_id] = Answer({}, problem=path)
                    continue
                key = self.keys.get(output.job_id) or self._hashed(output, path)
                if key not in self.answers and key not in begun:
                    begun.add(key)
                    row = output.row if self.takes_row else None
                    yield Item(output.job_id, key, path, row)
        finally:
            threads.shutdown(cancel_futures=True)

    def _fetched(self, output: ScoredOutput) -> Path | str:
        """Return the local file, or the reason for its absence."""
        try:
            return Path(self.fetch(output))
        except Exception as error:  # noqa: BLE001 - it is the problem of one output
            return f"It could not be fetched: {problem_of(error)}"

    def _hashed(self, output: ScoredOutput, path: Path) -> str:
        with path.open("rb") as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        scores.save_sha256(self.history, output.job_id, sha256, **self.owner)
        key = self.keys[output.job_id] = self._key(output, sha256)
        if key not in self.answers:
            self._look_up([key])
        return key

    def _key(self, output: ScoredOutput, sha256: str) -> str:
        return key_with_row(output, sha256) if self.takes_row else sha256

    def _look_up(self, keys: Iterable[str]) -> None:
        if self.version is not None:
            stored = scores.stored(self.history, keys, self.scorer, self.version)
            self.answers |= {key: Answer(*said) for key, said in stored.items()}

    def record(self, item: Item, answer: Answer) -> None:
        """Save the score of an output; a failed one is retried next time."""
        self.answers[item.key] = answer
        self.asked.add(item.job_id)
        key = (self.scorer, self.version or "", item.key)
        score = Score(item.job_id, *key, *answer[:3])
        if answer.problem is None:
            scores.save(self.history, score, **self.owner)
        elif answer.cost_micro_usd is not None:
            scores.save_cost(self.history, score, **self.owner)

    def reuse(self) -> None:
        """Copy matching answers to the outputs that were not scored now."""
        seen = {
            job_id: key
            for job_id, key in self.keys.items()
            if job_id not in self.asked and self.answers[key].problem is None
        }
        its = (self.scorer, self.version or "")
        scores.reuse(self.history, seen, *its, **self.owner)

    def frame(self) -> pd.DataFrame:
        """Return one row per output."""
        import pandas as pd

        from mediakit.history.frames import score_column, text_array

        job_ids = [output.job_id for output in self.outputs]
        answers = [self.answers.get(i) or self.answers[self.keys[i]] for i in job_ids]
        names = dict.fromkeys(name for each in answers for name in each.values)
        costs = [
            answer.cost_micro_usd if job_id in self.asked else None
            for job_id, answer in zip(job_ids, answers, strict=True)
        ]
        return pd.DataFrame(
            {
                "job_id": text_array(job_ids),
                **{n: score_column([a.values.get(n) for a in answers]) for n in names},
                REASON: text_array([answer.reason for answer in answers]),
                COST: pd.array(costs, dtype="Int64"),
                "problem": text_array([answer.problem for answer in answers]),
            }
        )


def key_with_row(output: ScoredOutput, sha256: str) -> str:
    """Return the key of a score that depends on the row, too."""
    return hash_of(sha256, json.dumps(output.row, sort_keys=True))


def problem_of(error: BaseException) -> str:
    """Format an error as the problem of a cell."""
    text = f"{type(error).__name__}: {error}".strip().removesuffix(":")
    return text if len(text) <= LONGEST_PROBLEM else f"{text[:LONGEST_PROBLEM]}…"


# -- on workers -----------------------------------------------------------------------


def score_file(
    fn: Scorer, path: str, row: Row | None, name: str, attempt: int = 0
) -> Answer:
    """Score one file on a worker.

    Dask caches calls by their arguments, so another `attempt` is another call.
    """
    try:
        result = fn(*_arguments(path, row))
    except Exception as error:  # noqa: BLE001 - it is the problem of one output
        return _failure(error)
    return _answer_of(result, name)


async def await_score(
    fn: Scorer, path: str, row: Row | None, name: str, attempt: int = 0
) -> Answer:
    """Score one file with an asynchronous scorer."""
    try:
        result = await fn(*_arguments(path, row))
    except Exception as error:  # noqa: BLE001 - it is the problem of one output
        return _failure(error)
    return _answer_of(result, name)


def _arguments(path: str, row: Row | None) -> tuple[Any, ...]:
    return (Path(path),) if row is None else (Path(path), row)


def _failure(error: Exception) -> Answer:
    """Return an exception as the problem of an output, with its cost if known."""
    try:
        cost = _cost_micro_usd(getattr(error, COST, None))
    except ValueError:
        cost = None
    return Answer({}, None, cost, problem_of(error))


def _answer_of(result: Any, name: str) -> Answer:
    cost = None
    try:
        if not isinstance(result, Mapping):
            return Answer({name: _value(result)})
        answers = {str(each): value for each, value in result.items()}
        cost = _cost_micro_usd(answers.pop(COST, None))
        for reserved in TAKEN & answers.keys():
            raise ValueError(f"the scorer names a value {reserved!r}, a reserved name")
        reason = _value(answers.pop(REASON, None))
        values = {each: _value(value) for each, value in answers.items()}
    except Exception as error:  # noqa: BLE001 - it is the problem of one output
        return Answer({}, None, cost, problem_of(error))
    return Answer(values, None if reason != reason else str(reason), cost)


def _cost_micro_usd(cost: Any) -> int | None:
    if present(cost) is None:
        return None
    micro_usd = whole(cost)
    if micro_usd is None or micro_usd < 0:
        raise ValueError(f"{COST} must be whole micro-dollars, from 0 (got {cost!r})")
    return micro_usd


def _value(value: Any) -> Value:
    plain = value
    if hasattr(value, "item"):  # of numpy or torch; fails for arrays of several numbers
        with suppress(ValueError, TypeError, RuntimeError):
            plain = value.item()
    if present(plain) is None:
        return math.nan
    if isinstance(plain, str):
        return str(plain)
    if not isinstance(plain, Real | Decimal):
        raise TypeError(f"the scorer returned {value!r}; it must return {RESULTS}")
    return float(plain)


class _Here(Executor):
    """Runs each call at once, in this thread."""

    def submit(
        self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any
    ) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


class _OnLoop(Executor):
    """Awaits each call on the event loop of another thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def submit(
        self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any
    ) -> Future[Any]:
        return asyncio.run_coroutine_threadsafe(fn(*args, **kwargs), self._loop)


@cache
def _scorer_loop(_pid: int) -> asyncio.AbstractEventLoop:
    """Return the event loop for blocking calls, one per process.

    All calls share the loop, because the connections of a client belong to one loop. It
    is not the loop of the I/O thread, which a scorer that decodes a file would block.
    """
    loop = asyncio.new_event_loop()
    threading.Thread(
        target=loop.run_forever, name="mediakit-scorers", daemon=True
    ).start()
    return loop


class _Workers:
    """The executor; a broken process pool is replaced by an equal one."""

    def __init__(self, executor: Executor, fn: Scorer) -> None:
        self._executor = executor
        self._own: ProcessPoolExecutor | None = None
        self._fn, self._name = fn, column_of(fn)
        # The maximum number of outputs in flight: enough to keep all workers busy, but
        # few to repeat if a pool breaks.
        self.most = math.inf
        self._score: Callable[..., Any] = score_file
        if isinstance(executor, _OnLoop):
            self._score, self.most = await_score, AWAITED_AT_ONCE
        if isinstance(executor, ProcessPoolExecutor | ThreadPoolExecutor):
            workers = getattr(executor, "_max_workers", None) or os.cpu_count() or 1
            self.most = 1 + int(workers)

    def submit(self, item: Item, attempt: int = 0) -> Future[Any]:
        path, name = str(item.path), self._name
        call = partial(self._score, self._fn, path, item.row, name, attempt)
        try:
            return self._executor.submit(call)
        except BrokenExecutor:
            broken = self._executor
            if not isinstance(broken, ProcessPoolExecutor):
                raise
            self.close()
            self._executor = self._own = ProcessPoolExecutor(
                getattr(broken, "_max_workers", None),
                getattr(broken, "_mp_context", None),
                getattr(broken, "_initializer", None),
                getattr(broken, "_initargs", ()),
            )
            return self._executor.submit(call)

    def close(self) -> None:
        if self._own is not None:
            self._own.shutdown(wait=False, cancel_futures=True)


def _answers(
    executor: Executor, fn: Scorer, items: Iterable[Item]
) -> Generator[tuple[Item, Answer]]:
    """Yield the items with their answers, as they finish.

    Items whose worker died are scored again at the end, one at a time, to find the file
    that kills workers without affecting others.
    """
    workers = _Workers(executor, fn)
    running: dict[Future[Any], Item] = {}
    died: list[Item] = []

    def ended(timeout_s: float | None) -> Iterator[tuple[Item, Answer]]:
        for future in wait(running, timeout_s, FIRST_COMPLETED).done:
            item = running.pop(future)
            answer = _answer(future)
            if answer is None:
                died.append(item)
            else:
                yield item, answer

    try:
        for item in items:
            running[workers.submit(item)] = item
            yield from ended(0 if len(running) < workers.most else None)
        while running:
            yield from ended(None)
        for item in died:
            tries = (_answer(workers.submit(item, n + 1)) for n in range(TRIES_ALONE))
            yield item, next(filter(None, tries), Answer({}, problem=DIED))
    finally:
        for future in running:
            future.cancel()
        workers.close()


def _answer(future: Future[Any]) -> Answer | None:
    """Wait for an answer; None if its worker died."""
    try:
        answer: Answer = future.result()
    except Exception as error:  # noqa: BLE001 - it is the problem of one output
        if isinstance(error, BrokenExecutor) or type(error).__name__ == "KilledWorker":
            return None
        return Answer({}, problem=problem_of(error))
    return answer
