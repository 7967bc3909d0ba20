"""Scoring outputs: the input of a scorer, stored scores, and failures."""

from __future__ import annotations

import linecache
import multiprocessing
import signal
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import (
    BrokenExecutor,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
)
from decimal import Decimal
from fractions import Fraction
from functools import partial
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest

from mediakit import Client
from mediakit.errors import InputError
from mediakit.history import History
from mediakit.sweep import Results
from mediakit.sweep.scoring import DIED, ScoredOutput, score_file, score_outputs
from tests.support.new_history import with_history
from tests.sweep.made_scorers import (
    OWNER,
    DiesOnce,
    first_byte,
    local_file,
    prompt_length,
    score_in_process,
    size_bytes,
)
from tests.sweep.service import Service

# In one process of the tests: the server that forks takes seconds to start.
forks = pytest.mark.xdist_group("forks")
FORKED = multiprocessing.get_context("forkserver")
FORKED.set_forkserver_preload(["tests.sweep.made_scorers"])


@pytest.fixture
def service() -> Service:
    return Service()


@pytest.fixture
def client(service: Service, tmp_path: Path) -> Iterator[Client]:
    with service.client(tmp_path / "home") as client:
        yield client


def made(client: Client, *prompts: str, **more: Any) -> Results:
    """Make a job of each prompt; the file of a job is its prompt."""
    plan = client.sweep("text-to-video", prompt=list(prompts), duration=3, **more)
    return plan.run().wait()


@pytest.fixture(scope="module")
def pool() -> Iterator[ProcessPoolExecutor]:
    """Share the processes of tests that do not end them."""
    with forked() as workers:
        yield workers


def forked(workers: int = 2) -> ProcessPoolExecutor:
    """Start a pool and all its workers.

    Where a worker dies while another one is being started, Python 3.11 waits for ever.
    """
    pool = ProcessPoolExecutor(workers, mp_context=FORKED)
    list(pool.map(abs, range(workers)))
    return pool


@pytest.fixture(params=["here", "threads", pytest.param("processes", marks=forks)])
def executor(request: pytest.FixtureRequest) -> Iterator[Executor | None]:
    if request.param == "here":
        yield None
    elif request.param == "threads":
        with ThreadPoolExecutor(2) as threads:
            yield threads
    else:
        yield request.getfixturevalue("pool")


# -- what it returns ------------------------------------------------------------------


def test_every_output_has_a_row_and_an_error_marks_only_its_row(
    client: Client, executor: Executor | None
) -> None:
    prompts = ["a" * (n + 1) for n in range(9)]
    prompts[3] = "xyz"
    scored = made(client, *prompts).score(first_byte, executor)

    assert list(scored.columns) == [
        *("job_id", "first", "length", "reason", "cost_micro_usd", "problem")
    ]
    lengths = scored["length"].tolist()
    assert [lengths[n] for n in (0, 1, 2, 4, 8)] == [1, 2, 3, 5, 9]
    assert scored.drop(index=3)["problem"].isna().all()
    assert scored.loc[3, "problem"] == "ValueError: it begins with an x"
    assert scored["length"].isna().sum() == 1
    assert [scored.dtypes[name] for name in ("first", "length")] == ["float64"] * 2


def test_a_scorer_that_takes_a_row_sees_the_cell(
    client: Client, executor: Executor | None
) -> None:
    scored = made(client, "a kite", "a gull at noon").score(prompt_length, executor)

    assert scored["prompt_length"].tolist() == [6, 14]


def row_noted(rows: list[Any]) -> Callable[[Path, Any], int]:
    """Return a scorer that records its rows."""

    def noted(path: Path, row: Any) -> int:
        rows.append(row)
        return 1

    return noted


def test_the_row_has_the_fields_the_axes_the_take_and_the_job(client: Client) -> None:
    results = made(client, "a {bird} over {place}", bird=["gull"], place="dunes")
    rows: list[Any] = []
    scored = results.score(row_noted(rows), version="1")

    (row,) = rows
    assert (row["prompt"], row["bird"], row["take"]) == ("a gull over dunes", "gull", 1)
    assert row["job_id"] == scored["job_id"][0]
    # Defaults are fields, too: this is what was asked for.
    assert (row["duration"], row["resolution"]) == (3, "720p")
    # A sweep that is found again has the same rows, so nothing is scored again.
    client.sweep_results(results.id).score(row_noted(rows), version="1")
    assert len(rows) == 1


class Method:
    """An object without attributes, whose method takes a row."""

    def judge(self, path: Path, row: Any) -> str:
        return str(row["prompt"])


@pytest.mark.parametrize(
    ("fn", "expected"),
    [
        (lambda path, row: row["prompt"], "a kite"),
        (lambda path, row=None: row["prompt"], "a kite"),
        (lambda path, /, asked: asked["prompt"], "a kite"),
        (lambda path, suffix=" seen": path.read_text() + suffix, "a kite seen"),
        (lambda *paths: str(len(paths)), "1"),
        (partial(lambda path, row, what: row[what], what="prompt"), "a kite"),
        (Method().judge, "a kite"),
    ],
)
def test_the_signature_decides_whether_a_scorer_sees_the_row(
    client: Client, fn: Any, expected: str
) -> None:
    assert made(client, "a kite").score(fn, version="1").iloc[0, 1] == expected


async def asynchronous(path: Path) -> int:
    return 1


THREADS = ThreadPoolExecutor(1)


@pytest.mark.parametrize(
    ("field", "arguments", "sentence"),
    [
        ("fn", {"fn": "sharpness"}, r"fn\(path\) or fn\(path, row\)"),
        ("fn", {"fn": lambda: 1}, r"fn\(path\) or fn\(path, row\) \(got .*score\(\)"),
        ("fn", {"fn": lambda path, row, model: 1}, r"score\(path, row, model\)"),
        ("fn", {"fn": lambda *, path: 1}, r"score\(\*, path\)"),
        ("executor", {"fn": asynchronous, "executor": THREADS}, "omitted for an asyn"),
        ("executor", {"fn": size_bytes, "executor": "dask"}, r"get_executor\(\)"),
    ],
)
def test_an_invalid_scorer_is_rejected_before_anything_is_downloaded(
    service: Service,
    client: Client,
    field: str,
    arguments: dict[str, Any],
    sentence: str,
) -> None:
    with pytest.raises(InputError, match=sentence) as caught:
        made(client, "a kite").score(**arguments)
    assert caught.value.field == field
    assert not service.files


@pytest.mark.parametrize(
    ("result", "problem"),
    [
        (b"sharp", "TypeError: the scorer returned b'sharp'; it must return a number"),
        ({"a": [1]}, r"TypeError: the scorer returned \[1\]"),
        ({"problem": 1}, "ValueError: the scorer names a value 'problem'"),
        ({"judge_cost_micro_usd": 1}, "ValueError: .* 'judge_cost_micro_usd', a"),
        ({"a": 1, "cost_micro_usd": 0.5}, "ValueError: cost_micro_usd must be whole"),
        ({"a": 1, "cost_micro_usd": -1}, r"ValueError: .*, from 0 \(got -1\)"),
    ],
)
def test_a_value_that_is_neither_a_number_nor_text_is_a_problem_of_its_output(
    client: Client, result: object, problem: str
) -> None:
    results = made(client, "a kite")
    with pytest.warns(UserWarning, match="failed on the only output"):
        scored = results.score(lambda path: result, version="1")

    assert scored["problem"].str.match(problem).all()


def test_none_is_unknown_and_texts_are_kept_as_texts(client: Client) -> None:
    results = made(client, "kite", "gull")
    said = {"kite": {"a": None, "b": True, "why": "tail"}, "gull": {"a": 2, "why": "é"}}
    for _ in range(2):  # the second time, they are read from the history
        scored = results.score(lambda path: said[path.read_text()], version="1")
        assert scored["a"].isna().tolist() == [True, False]
        assert scored["b"].tolist()[0] == 1.0
        assert scored["why"].tolist() == ["tail", "é"]
    assert results.frame()["why"].tolist() == ["tail", "é"]


def test_a_scorer_replaces_its_own_columns_and_none_of_the_results(
    client: Client,
) -> None:
    results = made(client, "kite", "gull")
    results.score(lambda path: {"rating": 1, "mark": 1}, version="1")
    results.score(
        lambda path: {"mark": 2} if path.read_text() == "kite" else {}, version="2"
    )

    frame = results.frame()
    assert frame["rating"].isna().all()
    assert frame["score_rating"].tolist() == [1, 1]
    assert frame["mark"].tolist()[0] == 2
    assert frame["mark"].isna().tolist() == [False, True]  # not that of the other one


# -- what is kept ---------------------------------------------------------------------


def counted(calls: list[str]) -> Callable[[Path], int]:
    """Return a scorer that records the files that it reads."""

    def length(path: Path) -> int:
        calls.append(path.read_text())
        return len(calls[-1])

    return length


def test_scored_outputs_are_neither_scored_nor_fetched_after_a_restart(
    service: Service, tmp_path: Path
) -> None:
    calls: list[str] = []
    for _ in range(2):
        with service.client(tmp_path / "home") as client:
            results = made(client, "a", "bb")
            scored = results.score(counted(calls), version="1")
            assert scored["length"].tolist() == [1, 2]
            for path in (tmp_path / "home" / "outputs").rglob("*.mp4"):
                path.unlink()

    assert sorted(calls) == ["a", "bb"]
    assert service.files == {"a": 1, "bb": 1}


def test_a_content_is_scored_once_and_once_a_row_where_the_scorer_sees_it(
    client: Client,
) -> None:
    results = made(client, "same", "other", takes=2)
    calls: list[str] = []
    results.score(counted(calls), version="1")
    assert sorted(calls) == ["other", "same"]

    rows: list[Any] = []
    for _ in range(2):
        results.score(row_noted(rows), version="1")
    assert sorted(row["take"] for row in rows) == [1, 1, 2, 2]


def test_scores_are_in_the_frame_of_a_sweep_that_is_found_again(
    service: Service, tmp_path: Path
) -> None:
    def length(path: Path, row: dict[str, Any]) -> float:
        return float(len(row["prompt"]) * row["duration"])

    def verdict(path: Path) -> dict[str, Any]:
        size = path.stat().st_size
        return {"rating": size, "word": None if size == 6 else f"{size} bytes"}

    home = tmp_path / "home"
    with service.client(home) as client:
        plan = client.sweep("text-to-video", prompt="a {s}", s=["kite", "gull at noon"])
        results = plan.run().wait()
        results.score(lambda path: -1.0, version="0")
        results.score(length, version="1")
        results.score(length, version="2")
        results.score(verdict, version="1")
        before = results.frame()
    assert before["length"].tolist() == [30, 70]
    with service.client(home) as client:
        found = client.sweep_results(results.id)
        frame = found.frame()
        pd.testing.assert_series_equal(frame["length"], before["length"])
        pd.testing.assert_series_equal(frame["score_rating"], before["score_rating"])
        pd.testing.assert_series_equal(frame["word"], before["word"])
        sweeps = client.sweeps()
        assert sweeps["length"].tolist() == [50]
        assert "word" not in sweeps
        assert found.compare("s", "length").frame["difference"].tolist() == [40]
        rerun = client.sweep("text-to-video", prompt="a {s}", s=["gull at noon"])
        assert rerun.run().wait().frame()["length"].tolist() == [70]


def test_a_scorer_that_fails_on_every_output_says_its_first_error(
    client: Client,
) -> None:
    def broken(path: Path) -> float:
        raise RuntimeError("model not loaded")

    results = made(client, "a kite", "a gull")
    sentence = "broken failed on all 2 outputs, so there are no scores: RuntimeError: m"
    with pytest.warns(UserWarning, match=sentence) as caught:
        scored = results.score(broken, version="1")
    assert caught[0].filename == __file__
    assert scored["problem"].notna().all()


class Tensor:
    """A number of another library, which knows how to become a plain one."""

    def item(self) -> float:
        return 0.25


class Tensors(Tensor):
    """Several numbers, as torch has them."""

    def item(self) -> float:
        raise RuntimeError("a Tensor with 2 elements cannot be converted to Scalar")


@pytest.mark.parametrize(
    ("value", "score"),
    [
        (np.bool_(1), 1.0),
        (np.array(0.5), 0.5),
        (np.array([[0.5]]), 0.5),
        (np.float32(0.5), 0.5),
        (np.int8(3), 3.0),
        (Decimal("2.5"), 2.5),
        (Fraction(1, 4), 0.25),
        (Tensor(), 0.25),
        (pd.NA, None),
        (pd.NaT, None),
        (np.nan, None),
    ],
    ids=lambda each: type(each).__name__,
)
def test_any_number_of_any_library_is_a_score(value: Any, score: float | None) -> None:
    found = score_file(lambda path: {"v": value}, "a.mp4", None, "v")
    assert found.problem is None
    kept = float(found.values["v"])
    assert (kept != kept) if score is None else kept == score


@pytest.mark.parametrize("value", [np.array([1, 2]), Tensors(), [1]])
def test_several_numbers_are_no_score(value: Any) -> None:
    found = score_file(lambda path: value, "a.mp4", None, "v")
    assert found.values == {}
    assert "must return a number" in str(found.problem)


def test_another_version_is_scored_again(client: Client) -> None:
    results, calls = made(client, "a"), list[str]()
    for version in ("1", "2", "2"):
        results.score(counted(calls), version=version)
    scorer = counted(calls)
    scorer.version = "2"  # type: ignore[attr-defined]
    results.score(scorer)

    assert len(calls) == 2


def test_a_failed_output_is_retried_and_affects_no_other_score(
    service: Service, client: Client
) -> None:
    service.lost_files = frozenset({"lost"})
    results, calls = made(client, "a", "flaky", "lost"), list[str]()

    def scorer(path: Path) -> int:
        calls.append(path.read_text())
        if calls.count("flaky") == 1:
            raise OSError("for once")
        return len(calls[-1])

    first = results.score(scorer, version="1")
    assert first["problem"].isna().tolist() == [True, False, False]
    assert first["problem"][1] == "OSError: for once"
    assert first["problem"][2].startswith("It could not be fetched: GoneError")
    for _ in range(2):
        again = results.score(scorer, version="1")
    assert again["scorer"].tolist()[:2] == [1, 5]
    assert calls == ["a", "flaky", "flaky"]


def test_an_interrupt_keeps_finished_scores(client: Client) -> None:
    results, calls = made(client, *"abcdefgh"), list[str]()

    def scorer(path: Path) -> int:
        if len(calls) == 5:
            calls.append("interrupted")
            raise KeyboardInterrupt
        calls.append(path.read_text())
        return 1

    with pytest.raises(KeyboardInterrupt):
        results.score(scorer, version="1")
    assert results.score(scorer, version="1")["scorer"].sum() == 8
    assert calls == [*"abcde", "interrupted", *"fgh"]


def test_an_interrupt_keeps_what_ended_on_workers_and_starts_no_more(
    client: Client,
) -> None:
    class Interrupted(ThreadPoolExecutor):
        left = 5

        def submit(self, *args: Any, **more: Any) -> Future[Any]:
            self.left -= 1
            if self.left < 0:
                raise KeyboardInterrupt
            return super().submit(*args, **more)

    results, calls = made(client, *"abcdefgh"), list[str]()
    with Interrupted(1) as threads, pytest.raises(KeyboardInterrupt):
        results.score(counted(calls), threads, version="1")
    begun = len(calls)
    assert 3 <= begun <= 5
    results.score(counted(calls), version="1")
    assert set(calls) == {*"abcdefgh"}
    # Two are in flight at most.
    assert len(calls) <= 8 + 2


@forks
def test_a_killed_run_continues_with_the_output_that_it_lost(tmp_path: Path) -> None:
    home, notes = with_history(tmp_path / "home"), tmp_path / "notes"
    notes.mkdir()
    names = [*"abcd", "once", *"ef"]
    for name in names:
        (tmp_path / name).write_text(name)
    outputs = [ScoredOutput(name, str(tmp_path / name)) for name in names]
    history = home / "history.sqlite3"
    process = FORKED.Process(
        target=score_in_process, args=(history, outputs, str(notes))
    )
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL

    score_in_process(history, outputs, str(notes))
    begun = Counter(path.stem for path in notes.iterdir())
    assert begun == {**dict.fromkeys(names, 1), "once": 2}


# -- workers that die -----------------------------------------------------------------


@forks
def test_a_file_that_kills_workers_costs_no_other_its_score(
    client: Client, tmp_path: Path
) -> None:
    names = [f"file{n:02}" for n in range(20)]
    results = made(client, "once", *names[:10], "killer", *names[10:])
    with forked() as pool:
        scored = results.score(DiesOnce(str(tmp_path)), pool)
    scored.index = pd.Index(["once", *names[:10], "killer", *names[10:]])

    assert scored["problem"].dropna().to_dict() == {"killer": DIED}
    assert scored["DiesOnce"].dropna().tolist() == [4, *[6] * 20]
    begun = Counter(path.stem for path in tmp_path.glob("*.*"))
    assert (begun["once"], begun["killer"]) == (2, 3)
    # Two workers and one in the queue: no other is repeated.
    assert sum(begun.values()) <= 22 + 1 + 3 * 3


def test_an_executor_that_breaks_for_good_says_so(client: Client) -> None:
    class Broken(Executor):
        def submit(self, *_: object, **__: object) -> Future[object]:  # type: ignore[override]
            raise BrokenExecutor("it is broken")

    with pytest.raises(BrokenExecutor):
        made(client, "a").score(size_bytes, Broken())


def test_what_a_worker_cannot_import_is_a_problem_of_each_output(
    client: Client,
) -> None:
    class Remote(Executor):
        def submit(self, *_: object, **__: object) -> Future[object]:  # type: ignore[override]
            future: Future[object] = Future()
            future.set_exception(ModuleNotFoundError("No module named 'mine'"))
            return future

    results = made(client, "a", "b")
    with pytest.warns(UserWarning, match="there are no scores"):
        scored = results.score(size_bytes, Remote())
    assert set(scored["problem"]) == {"ModuleNotFoundError: No module named 'mine'"}


@forks
def test_a_process_pool_is_given_no_function_that_it_cannot_import(
    service: Service,
    client: Client,
    pool: ProcessPoolExecutor,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    results = made(client, "a")
    with pytest.raises(InputError, match="top level of a module"):
        results.score(lambda path: 1, pool)
    cell = ModuleType("__main__")
    exec("def sharp(path): return 1", cell.__dict__)
    monkeypatch.setitem(sys.modules, "__main__", cell)
    with pytest.raises(InputError, match=r"sharp, .* notebook cell"):
        results.score(cell.sharp, pool)
    assert not service.files


# -- one scorer or two ----------------------------------------------------------------


def cell(source: str, **names: object) -> Any:
    """Return the function `judge` of a notebook cell."""
    file = f"<ipython-input-{len(linecache.cache)}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    scope: dict[str, Any] = {"__name__": "__main__", **names}
    exec(compile(source, file, "exec"), scope)
    return scope["judge"]


class Mark:
    """A judge with a setting."""

    def __init__(self, mark: float) -> None:
        self.mark = mark

    def __call__(self, path: Path) -> float:
        return self.mark


def closed(mark: Any) -> Callable[[Path], float]:
    return lambda path: float(mark[0] if isinstance(mark, list) else mark.mark)


def with_default(mark: float) -> Any:
    def judge(path: Path, mark: float = mark) -> float:
        return mark

    return judge


def bound(path: Path, mark: float) -> float:
    return mark


USES = """
def judge(path):
    return sum([weight() for _ in range(1)])
def weight():
    return {}
"""
NEVER_REUSED = {
    "object": Mark,
    "closure over an object": lambda mark: closed(Mark(mark)),
    "method": lambda mark: Mark(mark).__call__,
    "global object": lambda mark: cell(
        "def judge(path):\n    return model.mark", model=Mark(mark)
    ),
    "bound object": lambda mark: partial(lambda mark, path: mark.mark, Mark(mark)),
}
REUSED = {
    "closure over data": lambda mark: closed([mark]),
    "default": with_default,
    "bound argument": lambda mark: partial(bound, mark=mark),
    "source": lambda mark: cell(f"def judge(path):\n    return {mark}"),
    "global data": lambda mark: cell(
        "def judge(path):\n    return MARKS['a'][0]", MARKS={"a": [mark]}
    ),
    "global in an inner function": lambda mark: cell(
        "def judge(path):\n    return (lambda: MARK)()", MARK=mark
    ),
    "a function of the same notebook": lambda mark: cell(USES.format(mark)),
}


@pytest.mark.parametrize("judge", REUSED.values(), ids=REUSED)
def test_two_judges_that_use_other_data_never_share_a_score(
    client: Client, judge: Callable[[float], Any]
) -> None:
    results = made(client, "a")
    for mark in (1.0, 2.0, 1.0):
        assert results.score(judge(mark)).iloc[0, 1] == mark


@pytest.mark.parametrize("judge", NEVER_REUSED.values(), ids=NEVER_REUSED)
def test_a_judge_whose_settings_are_unknown_is_not_reused_and_the_call_says_so(
    client: Client, judge: Callable[[float], Any]
) -> None:
    results = made(client, "a")
    for mark in (1.0, 2.0):
        with pytest.warns(
            UserWarning, match=r"cannot be reused: .* version='1'"
        ) as caught:
            assert results.score(judge(mark)).iloc[0, 1] == mark
        assert caught[0].filename == __file__
        assert client.sweep_results(results.id).frame().iloc[0, -1] == mark
    for mark in (1.0, 2.0):  # a version stands for the settings
        assert results.score(judge(mark), version="1").iloc[0, 1] == 1.0


def test_two_notebooks_with_judges_of_one_name_and_version_share_no_score(
    client: Client,
) -> None:
    results = made(client, "a")
    kind = "class judge:\n    version = '1'\n    def __call__(self, path): return {}"
    for mark in (1.0, 2.0):
        function = cell(f"def judge(path):\n    return {mark}")
        assert results.score(function, version="1").iloc[0, 1] == mark
        assert results.score(cell(kind.format(mark))()).iloc[0, 1] == mark


def test_the_same_function_is_the_same_judge_in_another_process(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    results, source = made(client, "a"), "def judge(path):\n    return 1"
    results.score(cell(source))
    monkeypatch.setattr(results.core.files, "fetch", None)
    assert results.score(cell(source))["judge"].tolist() == [1]


def test_a_scorer_without_source_asks_for_a_version(client: Client) -> None:
    results = made(client, "a")
    scope: dict[str, Any] = {}
    exec("def sourceless(path): return 1", {"__name__": "nowhere"}, scope)
    assert isinstance(scope["sourceless"], FunctionType)
    with pytest.raises(InputError, match=r"version='1'"):
        results.score(scope["sourceless"])
    assert results.score(scope["sourceless"], version="1")["sourceless"].tolist() == [1]


def test_without_outputs_there_is_an_empty_frame(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        history = History(with_history(tmp_path) / "history.sqlite3")
        scored = score_outputs(
            [], size_bytes, fetch=local_file, history=history, owner=OWNER
        )
    assert list(scored.columns) == ["job_id", "reason", "cost_micro_usd", "problem"]
    assert isinstance(scored, pd.DataFrame)
    history.close()
