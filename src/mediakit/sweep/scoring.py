"""Score the outputs of a sweep with a function of the user.

It runs in this process or on any `concurrent.futures.Executor`. Each score is stored as
soon as it is there, by what the scorer saw, so that a run that was killed continues
where it ended.
"""

from __future__ import annotations

import dis
import hashlib
import inspect
import json
import math
import os
import pickle
import sys
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
from functools import partial
from multiprocessing import get_start_method
from numbers import Real
from pathlib import Path
from types import CodeType, ModuleType
from typing import TYPE_CHECKING, Any

from mediakit.errors import InputError
from mediakit.history import History, ratings
from mediakit.history.ratings import Score

if TYPE_CHECKING:
    import pandas as pd

FETCHED_AT_ONCE = 8
LONGEST_PROBLEM = 300
HASH_DIGITS = 16
TAKEN = frozenset({"job_id", "problem"})
SCORERS = "fn(path) or fn(path, row)"
RESULTS = "a number, a text, or a dict of these by name"
EXECUTORS = (
    "a concurrent.futures.Executor, such as ProcessPoolExecutor() or "
    "get_executor() of a dask.distributed.Client (pip install 'mediakit[dask]')"
)
IMPORTABLE = "a function at the top level of a module that other processes can import"
TRIES_ALONE = 2
DIED = f"The worker process died {TRIES_ALONE} times while scoring only this output."

Row = Mapping[str, Any]
Scorer = Callable[..., Any]
Values = Mapping[str, float | str]
Answer = tuple[Values | None, str | None]
"""The values of an output, or None and the problem."""


@dataclass(frozen=True)
class Output:
    """The output of one job: where it is, and what a scorer may see of its cell."""

    job_id: str
    source: str
    row: Row = field(default_factory=dict)


Fetch = Callable[[Output], Path]


@dataclass(frozen=True)
class Item:
    """A fetched output, by the hash of what the scorer sees of it."""

    key: str
    path: Path
    row: Row | None


def score_outputs(
    outputs: Sequence[Output],
    fn: Scorer,
    *,
    fetch: Fetch,
    history: History,
    owner: Mapping[str, str],
    executor: Executor | None = None,
    version: str | None = None,
) -> pd.DataFrame:
    """Score outputs, each once; what raises is the problem of its output alone.

    `fetch` returns an output as a local file, on several threads; the executor is not
    shut down. See `AsyncResults.score`.
    """
    takes_row = sees_row(fn)
    _check_executor(executor, fn)
    name, stored_version = identity_of(fn, version)
    if stored_version is None:
        warnings.warn(
            f"{column_of(fn)} uses objects that its source does not show, so its "
            "scores are not stored: every call scores all outputs again. Give it a "
            "version, such as score(..., version='1').",
            stacklevel=4,
        )
    run = _Run(outputs, name, stored_version, takes_row, fetch, history, owner)
    with (
        closing(run.items()) as items,
        closing(_answers(executor or _Here(), fn, items)) as answers,
    ):
        for item, answer in answers:
            run.record(item, answer)
    return run.frame()


def _check_executor(executor: object, fn: Scorer) -> None:
    if not (executor is None or isinstance(executor, Executor)):
        raise InputError("executor", got=executor, accepted=EXECUTORS)
    if not isinstance(executor, ProcessPoolExecutor):
        return  # threads share the scorer, and Dask can send more than other pools
    try:
        pickle.dumps(fn)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        got = f"{column_of(fn)} ({error})"
        raise InputError("fn", got=got, accepted=IMPORTABLE) from None
    is_of_a_cell = getattr(fn, "__module__", "") == "__main__" and not hasattr(
        sys.modules["__main__"], "__file__"
    )
    context = getattr(executor, "_mp_context", None)
    method = context.get_start_method() if context else get_start_method()
    if is_of_a_cell and method != "fork":
        got = f"{column_of(fn)}, which is defined in a notebook cell"
        accepted = f"{IMPORTABLE} (%%writefile makes one)"
        raise InputError("fn", got=got, accepted=accepted)


@dataclass
class _Run:
    """One call: its outputs, under which name their scores are stored, its answers."""

    outputs: Sequence[Output]
    scorer: str
    version: str | None
    takes_row: bool
    fetch: Fetch
    history: History
    owner: Mapping[str, str]
    keys: dict[str, str] = field(default_factory=dict)  # by job
    answers: dict[str, Answer] = field(default_factory=dict)  # by key, or by job

    def items(self) -> Generator[Item]:
        """Fetch the outputs without a score, and yield each that differs once."""
        job_ids = [output.job_id for output in self.outputs]
        sha256s = ratings.sha256s(self.history, job_ids, **self.owner)
        for output in self.outputs:
            if output.job_id in sha256s:
                self.keys[output.job_id] = self._key(output, sha256s[output.job_id])
        self._look_up(self.keys.values())
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
                    self.answers[output.job_id] = (None, path)
                    continue
                key = self.keys.get(output.job_id) or self._hashed(output, path)
                if key not in self.answers and key not in begun:
                    begun.add(key)
                    yield Item(key, path, output.row if self.takes_row else None)
        finally:
            threads.shutdown(cancel_futures=True)

    def _fetched(self, output: Output) -> Path | str:
        """Return the local file, or the reason why there is none."""
        try:
            return Path(self.fetch(output))
        except Exception as error:  # noqa: BLE001 - it is the problem of one output
            return f"It could not be fetched: {problem_of(error)}"

    def _hashed(self, output: Output, path: Path) -> str:
        with path.open("rb") as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        ratings.save_sha256s(self.history, {output.job_id: sha256}, **self.owner)
        key = self.keys[output.job_id] = self._key(output, sha256)
        self._look_up([key])
        return key

    def _key(self, output: Output, sha256: str) -> str:
        if not self.takes_row:
            return sha256
        return hash_of(sha256, json.dumps(output.row, sort_keys=True))

    def _look_up(self, keys: Iterable[str]) -> None:
        if self.version is not None:
            found = ratings.scores(self.history, keys, self.scorer, self.version)
            self.answers |= {key: (values, None) for key, values in found.items()}

    def record(self, item: Item, answer: Answer) -> None:
        """Store the score of an output; one that failed is tried again next time."""
        self.answers[item.key] = answer
        values, _ = answer
        if self.version is not None and values is not None:
            score = Score(item.key, self.scorer, self.version, values)
            ratings.save_scores(self.history, [score])

    def frame(self) -> pd.DataFrame:
        """Return one row for each output."""
        import pandas as pd

        from mediakit.history.frames import text_array

        job_ids = [output.job_id for output in self.outputs]
        answers = [self.answers.get(i) or self.answers[self.keys[i]] for i in job_ids]
        found = [values or {} for values, _ in answers]
        names = dict.fromkeys(name for values in found for name in values)
        return pd.DataFrame(
            {
                "job_id": text_array(job_ids),
                **{n: column([values.get(n) for values in found]) for n in names},
                "problem": text_array([problem for _, problem in answers]),
            }
        )


def column(values: Sequence[float | str | None]) -> Any:
    """Return values as a column of numbers, or of texts if there is any."""
    import numpy as np

    from mediakit.history.frames import text_array

    if any(isinstance(value, str) for value in values):
        return text_array([None if value is None else str(value) for value in values])
    return np.array([math.nan if v is None else v for v in values], "float64")


def problem_of(error: BaseException) -> str:
    """Format an error as the problem of a cell."""
    text = f"{type(error).__name__}: {error}".strip().removesuffix(":")
    return text if len(text) <= LONGEST_PROBLEM else f"{text[:LONGEST_PROBLEM]}…"


# -- on workers -----------------------------------------------------------------------


def score_file(
    fn: Scorer, path: str, row: Row | None, name: str, attempt: int = 0
) -> Answer:
    """Score one file; workers run this.

    Dask caches calls by their arguments, so another `attempt` is another call.
    """
    try:
        result = fn(Path(path)) if row is None else fn(Path(path), row)
        if isinstance(result, Mapping):
            for taken in TAKEN & result.keys():
                raise ValueError(f"the scorer names a value {taken!r}, which is taken")
            return {str(n): _value(value) for n, value in result.items()}, None
        return {name: _value(result)}, None
    except Exception as error:  # noqa: BLE001 - it is the problem of one output
        return None, problem_of(error)


def _value(value: object) -> float | str:
    if value is None:
        return math.nan
    if isinstance(value, str):
        return value
    if not isinstance(value, Real):
        raise TypeError(f"the scorer returned {value!r}; it must return {RESULTS}")
    return float(value)


class _Here(Executor):
    """Runs each call at once."""

    def submit(
        self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any
    ) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


class _Workers:
    """The executor; a process pool that broke is replaced by a new one like it."""

    def __init__(self, executor: Executor, fn: Scorer) -> None:
        self._executor = executor
        self._own: ProcessPoolExecutor | None = None
        self._fn, self._name = fn, column_of(fn)
        # Enough to keep all workers busy, but few to repeat if a pool breaks.
        self.most = math.inf
        if isinstance(executor, ProcessPoolExecutor | ThreadPoolExecutor):
            workers = getattr(executor, "_max_workers", None) or os.cpu_count() or 1
            self.most = 1 + int(workers)

    def submit(self, item: Item, attempt: int = 0) -> Future[Any]:
        path, name = str(item.path), self._name
        call = partial(score_file, self._fn, path, item.row, name, attempt)
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
    """Yield the items with their answers, as they end.

    Those whose worker died are scored again at the end, one at a time, so that a file
    that kills workers is found and affects no other.
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
            yield item, next(filter(None, tries), (None, DIED))
    finally:
        for future in running:
            future.cancel()
        workers.close()


def _answer(future: Future[Any]) -> Answer | None:
    """Wait for an answer; None if its worker died."""
    try:
        values, problem = future.result()
    except Exception as error:  # noqa: BLE001 - it is the problem of one output
        if isinstance(error, BrokenExecutor) or type(error).__name__ == "KilledWorker":
            return None
        return None, problem_of(error)
    return values, problem


# -- one scorer or two ----------------------------------------------------------------


def sees_row(fn: Any) -> bool:
    """Return whether a scorer takes a row: a needed second argument, or `row`."""
    if not callable(fn):
        raise InputError("fn", got=fn, accepted=SCORERS)
    called = fn if inspect.isroutine(fn) or isinstance(fn, partial) else fn.__call__
    if inspect.iscoroutinefunction(called):
        got = f"{column_of(fn)}, which is asynchronous"
        raise InputError("fn", got=got, accepted=f"{SCORERS} as a plain function")
    try:
        signature = inspect.signature(fn)
    except (TypeError, ValueError):
        return False  # a built-in function does not show its arguments
    if not _fits(signature, 1):
        if _fits(signature, 2):
            return True
        got = f"{column_of(fn)}{signature}"
        raise InputError("fn", got=got, accepted=SCORERS)
    return list(signature.parameters)[1:2] == ["row"] and _fits(signature, 2)


def _fits(signature: inspect.Signature, arguments: int) -> bool:
    try:
        signature.bind(*[None] * arguments)
    except TypeError:
        return False
    return True


def column_of(fn: Any) -> str:
    """Return the column of a scorer that returns one value: its name."""
    inner = getattr(fn, "func", fn)  # of a partial function
    name = str(getattr(inner, "__name__", type(inner).__name__))
    return name if name.isidentifier() else "score"


def identity_of(fn: Any, version: str | None = None) -> tuple[str, str | None]:
    """Return the name and the version under which the scores of a scorer are stored.

    The source of the scorer is part of the version, so that two scorers of one name,
    such as those of two notebooks, are different ones. So are the data that it uses, if
    it has no version of its own. The version is None where these cannot be told: its
    scores are not stored.
    """
    inner = fn.func if isinstance(fn, partial) else fn
    named: Any = inner if hasattr(inner, "__qualname__") else type(inner)
    name = f"{named.__module__}.{named.__qualname__}"
    source = _source(named)
    version = getattr(fn, "version", None) if version is None else version
    if version is not None:
        return name, f"{version}-{hash_of(source)[:HASH_DIGITS]}"
    if not source:
        accepted = "a function with a version, such as score(..., version='1')"
        raise InputError("fn", got=fn, accepted=accepted)
    try:
        return name, hash_of(*_told(fn, set()))[:HASH_DIGITS]
    except TypeError:
        return name, None


def _source(named: Any) -> str:
    """Return the source of a function, or of the functions of a class; empty if none.

    The source of a class in a notebook cell is known by its functions only.
    """
    functions = [named]
    if inspect.isclass(named):
        members = [each for base in named.__mro__ for each in vars(base).values()]
        functions = [each for each in members if inspect.isfunction(each)]
    texts = []
    for function in functions:
        with suppress(OSError, TypeError):
            texts.append(inspect.getsource(function))
    return "".join(texts)


def _told(fn: Any, seen: set[object]) -> Iterator[str]:
    """Yield what tells a scorer from others: its source and the data that it uses.

    Functions of its own module count with their source, others with their name.

    Raises:
        TypeError: It uses an object that is not plain data.
    """
    if isinstance(fn, partial):
        yield json.dumps([fn.args, fn.keywords], sort_keys=True)
        yield from _told(fn.func, seen)
    elif not inspect.isfunction(fn):
        state = getattr(fn, "__self__", fn)
        if not inspect.isclass(fn) and (
            getattr(state, "__dict__", None) or hasattr(state, "__slots__")
        ):
            raise TypeError("an object with attributes")
        yield _source(fn if hasattr(fn, "__qualname__") else type(fn))
    elif fn not in seen:
        seen.add(fn)
        yield _source(fn)
        for value in _used(fn):
            if isinstance(value, ModuleType):
                yield value.__name__
            elif getattr(value, "__module__", None) == fn.__module__:
                yield from _told(value, seen)
            elif hasattr(value, "__qualname__"):
                yield f"{value.__module__}.{value.__qualname__}"
            else:
                yield json.dumps(value, sort_keys=True)


def _used(fn: Any) -> Iterator[Any]:
    """Yield the values that a function uses, beside its arguments."""
    for cell in fn.__closure__ or ():
        with suppress(ValueError):  # it has no value yet
            yield cell.cell_contents
    yield from fn.__defaults__ or ()
    yield fn.__kwdefaults__
    for name in sorted(_global_names(fn.__code__) & fn.__globals__.keys()):
        yield fn.__globals__[name]


def _global_names(code: CodeType) -> set[str]:
    """Return the global names in a function, and in the functions inside it."""
    names = {
        each.argval
        for each in dis.get_instructions(code)
        if each.opname == "LOAD_GLOBAL"
    }
    inner = [each for each in code.co_consts if isinstance(each, CodeType)]
    return names.union(*map(_global_names, inner))


def hash_of(*texts: str) -> str:
    """Return the SHA-256 hash of texts, in hex."""
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()
