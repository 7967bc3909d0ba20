"""Killed at any moment, on either database, alone or four at once: bought once."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import count
from pathlib import Path
from random import Random
from typing import get_args

import pytest

from mediakit.client import Service
from mediakit.history import History
from mediakit.money import MICRO_PER_USD
from tests.support.process_lives import (
    GAVE_UP,
    KILLED,
    PATIENCE_S,
    Cell,
    End,
    Life,
    Phase,
    Program,
    attend,
)
from tests.support.samples.media_samples import make_png
from tests.support.sandbox.killing import KEY, OPENING_USD, Server
from tests.support.soak import BOTH_DATABASES, IS_SOAK, trials

KILLS = trials(10, soak=200)
KILLS_OF_FOUR = 40
KILLS_FOR_ONE_OF_THE_SERVICE = trials(5, soak=40)
PHASES = get_args(Phase)
MADE = "kills with a job made and no answer heard"
NOT_MADE = "kills with no answer heard and no job made"
KINDS_OF_END = {0: "ends", GAVE_UP: "lives without an answer", KILLED: "kills"}
# How long after its beginning a phase may still last: most are over sooner.
LONGEST_S: dict[Phase, float] = {
    "starting": 0.08,
    "before a claim": 0.01,
    "during an upload": 0.04,
    "after a claim": 0.0,
    "during a POST": 0.006,
    "after an answer": 0.002,
    "while watching": 0.3,
}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    server = Server(tmp_path / "data")
    yield server
    server.kill()


@pytest.fixture(params=BOTH_DATABASES)
def history(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "history.sqlite3")
    url: str = request.getfixturevalue("postgres_url")
    return url


@pytest.fixture
def cells(tmp_path: Path) -> tuple[Cell, ...]:
    """Make 60 cells: half of them cheap pictures, 26 with a file, 4 films."""
    files = [make_png(tmp_path / f"{n}.png", (16, 12), (n, 0, 0)) for n in range(21)]
    small = {"width": 64, "height": 48}
    return (
        *(Cell("text-to-image", {"prompt": f"{n}"}, 50_000, small) for n in range(30)),
        *(Cell("image-upscale", {"image_url": file}, 126_000) for file in files[:20]),
        *(
            Cell("image-upscale", {"image_url": files[20], "sharpen": n / 10}, 126_000)
            for n in range(6)
        ),
        *(
            Cell("text-to-video", {"prompt": f"{n}", "duration": 3}, 204_000)
            for n in range(4)
        ),
    )


def test_a_process_killed_again_and_again_pays_for_each_of_60_cells_once(
    server: Server,
    history: str,
    cells: tuple[Cell, ...],
    tell: Callable[[str], None],
) -> None:
    program = Program(server.base_url, KEY, history, cells)
    moments = Random(60)
    # Each phase once for certain, uploads while there are any; the rest is chance.
    first = [End(phase, 0.0, PATIENCE_S, stands_still=True) for phase in PHASES]

    def choose() -> End:
        if first:
            return first.pop(0)
        phase = moments.choice(PHASES)
        delay_s = moments.uniform(0, LONGEST_S[phase])
        still = moments.random() < 0.4
        return End(phase, delay_s, moments.uniform(0.05, 0.2), stands_still=still)

    with closing(History(history)) as remembered:
        doubts = Doubts(server, program, remembered)
        started_s = time.monotonic()
        counts = live_until_done(
            server, program, choose, lives=1, kills=KILLS, look=doubts.look
        )
        lasted_s = time.monotonic() - started_s

    assert_bought_once(server, program)
    counts += doubts.counts
    tell(report("One process", lasted_s, counts))
    assert counts["kills"] == KILLS
    # Few kills meet a request on its way: both kinds of doubt are for the soak.
    wanted = (*PHASES, MADE, NOT_MADE) if IS_SOAK else PHASES
    assert [name for name in wanted if not counts[name]] == []


@pytest.mark.soak
def test_four_processes_that_are_killed_now_and_then_pay_for_each_cell_once(
    server: Server,
    history: str,
    cells: tuple[Cell, ...],
    tell: Callable[[str], None],
) -> None:
    program = Program(server.base_url, KEY, history, cells, at_once=True)
    moments = Random(4)

    def choose() -> End:
        return End("before a claim", moments.uniform(0, 0.2), latest_s=1.0)

    started_s = time.monotonic()
    counts = live_until_done(server, program, choose, lives=4, kills=KILLS_OF_FOUR)
    lasted_s = time.monotonic() - started_s

    assert_bought_once(server, program)
    tell(report("Four processes", lasted_s, counts))
    assert counts["kills"] >= KILLS_OF_FOUR


class Doubts:
    """Counts the kills after which nobody knew whether a job was made."""

    def __init__(self, server: Server, program: Program, remembered: History) -> None:
        self.counts = Counter[str]()
        self._server = server
        self._remembered = remembered
        self._service = Service(program.base_url, program.api_key)
        self._known: set[str] = set()

    def look(self) -> None:
        """Look for submits without an answer that were not there before."""
        unanswered = self._remembered.unanswered_entries(
            service=self._service.identity, account=self._service.account
        )
        with closing(self._server.store()) as db:
            for key in {submission.key for submission in unanswered} - self._known:
                self._known.add(key)
                asked = "SELECT count(*) FROM idempotency WHERE key = ?"
                (made,) = db.execute(asked, (key,)).fetchone()
                self.counts[MADE if made else NOT_MADE] += 1


def live_until_done(
    server: Server,
    program: Program,
    choose: Callable[[], End],
    *,
    lives: int,
    kills: int,
    look: Callable[[], None] = lambda: None,
) -> Counter[str]:
    """Begin one life after the other, until enough were killed and the rest is done."""
    counts = Counter[str]()
    seeds = count(1)

    def note(life: Life) -> None:
        counts[KINDS_OF_END[life.exit_code]] += 1
        if life.exit_code == KILLED:
            counts[life.phases[-1]] += 1
            look()
            kill_at_times(server, counts)

    living = [Life(program, next(seeds), choose()) for _ in range(lives)]
    try:
        while living:
            for life in attend(living):
                living.remove(life)
                note(life)
                end = choose() if counts["kills"] < kills else None
                if end or life.exit_code:
                    living.append(Life(program, next(seeds), end))
    finally:
        for life in living:
            life.kill()
    return counts


def kill_at_times(server: Server, counts: Counter[str]) -> None:
    if counts["kills"] % KILLS_FOR_ONE_OF_THE_SERVICE == 0:
        server.kill()
        server.start()
        counts["kills of the service"] += 1


def assert_bought_once(server: Server, program: Program) -> None:
    """Compare what the service sold, in all its books, with what is remembered."""
    server.await_ready()
    prices = [cell.charge_micro_usd for cell in program.cells]
    assert jobs_of(server) == (60, 60, sum(prices))
    with program.connect() as client:
        jobs = [client.submit(cell.kind, **cell.call) for cell in program.cells]
        assert all(job.reused for job in jobs)
        charges = {job.id: job.settle().charge_micro_usd for job in jobs}
        assert list(charges.values()) == prices
        remembered = client.history.frame().set_index("job_id")
        assert dict(remembered["charge_micro_usd"]) == charges
        assert len(remembered) == 60
        assert client.reserved_micro_usd() == 0
        daily = client.spend.daily()
        assert (daily["jobs"].sum(), daily["charge_micro_usd"].sum()) == (
            60,
            sum(prices),
        )
        drop = OPENING_USD * MICRO_PER_USD - client.balance().balance_micro_usd
        assert drop == sum(prices)
    assert jobs_of(server) == (60, 60, sum(prices))


def jobs_of(server: Server) -> tuple[int, int, int]:
    """Return its jobs, its charges, and what they cost: what only the store tells."""
    with closing(server.store()) as db:
        (jobs,) = db.execute("SELECT count(*) FROM job").fetchone()
        charges = db.execute("SELECT count(*), sum(charge_micro_usd) FROM charge")
        return jobs, *charges.fetchone()


def report(who: str, lasted_s: float, counts: Counter[str]) -> str:
    what = ", ".join(f"{n} {name}" for name, n in sorted(counts.items()))
    return f"{who}, {lasted_s:.0f} s: {what}."
