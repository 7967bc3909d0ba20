"""Each cell is bought once, although the processes that buy it are killed."""

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
from tests.support.killable_workers import (
    KILLED,
    SERVICE_FAILED,
    TIMEOUT_S,
    Cell,
    KillPoint,
    Phase,
    Program,
    Worker,
    wait_for_ended,
)
from tests.support.samples.media_samples import make_png
from tests.support.sandbox.killing import KEY, OPENING_USD, Server
from tests.support.soak import BOTH_DATABASES, IS_SOAK, trials

KILLS = trials(10, soak=200)
KILLS_OF_FOUR = 40
KILLS_PER_SERVICE_RESTART = trials(5, soak=40)
PHASES = get_args(Phase)
CREATED = "kills with a job but no response"
NOT_CREATED = "kills with neither a job nor a response"
OUTCOMES = {0: "completions", SERVICE_FAILED: "service failures", KILLED: "kills"}
# Up to how long after the start of a phase a worker is killed.
KILL_WITHIN_S: dict[Phase, float] = {
    "starting": 0.08,
    "before a claim": 0.01,
    "during an upload": 0.04,
    "after a claim": 0.0,
    "during a POST": 0.006,
    "after a response": 0.002,
    "while polling": 0.3,
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
    """Make 60 cells: 30 cheap pictures, 26 upscales of a file, and 4 videos."""
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


def test_a_process_that_is_killed_repeatedly_pays_for_each_of_60_cells_once(
    server: Server,
    history: str,
    cells: tuple[Cell, ...],
    tell: Callable[[str], None],
) -> None:
    program = Program(server.base_url, KEY, history, cells)
    random = Random(60)
    # Kill once in each phase, while there are uploads, then at random.
    first = [KillPoint(phase, 0.0, TIMEOUT_S, pauses=True) for phase in PHASES]

    def choose() -> KillPoint:
        if first:
            return first.pop(0)
        phase = random.choice(PHASES)
        delay_s = random.uniform(0, KILL_WITHIN_S[phase])
        pauses = random.random() < 0.4
        return KillPoint(phase, delay_s, random.uniform(0.05, 0.2), pauses=pauses)

    with closing(History(history)) as store:
        unanswered = UnansweredKills(server, program, store)
        started_s = time.monotonic()
        counts = run_until_done(
            server, program, choose, workers=1, kills=KILLS, on_kill=unanswered.count
        )
        lasted_s = time.monotonic() - started_s

    assert_bought_once(server, program)
    counts += unanswered.counts
    tell(summary("One process", lasted_s, counts))
    assert counts["kills"] == KILLS
    # Few kills hit a request in flight, so only the soak requires both outcomes.
    required = (*PHASES, CREATED, NOT_CREATED) if IS_SOAK else PHASES
    assert [name for name in required if not counts[name]] == []


@pytest.mark.soak
def test_four_processes_that_are_killed_at_random_pay_for_each_cell_once(
    server: Server,
    history: str,
    cells: tuple[Cell, ...],
    tell: Callable[[str], None],
) -> None:
    program = Program(server.base_url, KEY, history, cells, concurrent=True)
    random = Random(4)

    def choose() -> KillPoint:
        return KillPoint("before a claim", random.uniform(0, 0.2), latest_s=1.0)

    started_s = time.monotonic()
    counts = run_until_done(server, program, choose, workers=4, kills=KILLS_OF_FOUR)
    lasted_s = time.monotonic() - started_s

    assert_bought_once(server, program)
    tell(summary("Four processes", lasted_s, counts))
    assert counts["kills"] >= KILLS_OF_FOUR


class UnansweredKills:
    """Counts kills that left a submission without a response, with or without a job."""

    def __init__(self, server: Server, program: Program, store: History) -> None:
        self.counts = Counter[str]()
        self._server = server
        self._store = store
        self._service = Service(program.base_url, program.api_key)
        self._counted: set[str] = set()

    def count(self) -> None:
        """Count the submissions that have no response since the last kill."""
        unanswered = self._store.unanswered_entries(
            service=self._service.identity, account=self._service.account
        )
        with closing(self._server.store()) as db:
            for key in {submission.key for submission in unanswered} - self._counted:
                self._counted.add(key)
                query = "SELECT count(*) FROM idempotency WHERE key = ?"
                (jobs,) = db.execute(query, (key,)).fetchone()
                self.counts[CREATED if jobs else NOT_CREATED] += 1


def run_until_done(
    server: Server,
    program: Program,
    choose: Callable[[], KillPoint],
    *,
    workers: int,
    kills: int,
    on_kill: Callable[[], None] = lambda: None,
) -> Counter[str]:
    """Start workers until enough were killed and the last ones completed the work."""
    counts = Counter[str]()
    seeds = count(1)

    def record(worker: Worker) -> None:
        counts[OUTCOMES[worker.exit_code]] += 1
        if worker.exit_code == KILLED:
            counts[worker.phases[-1]] += 1
            on_kill()
            restart_service_at_times(server, counts)

    running = [Worker(program, next(seeds), choose()) for _ in range(workers)]
    try:
        while running:
            for worker in wait_for_ended(running):
                running.remove(worker)
                record(worker)
                kill_point = choose() if counts["kills"] < kills else None
                if kill_point or worker.exit_code:
                    running.append(Worker(program, next(seeds), kill_point))
    finally:
        for worker in running:
            worker.kill()
    return counts


def restart_service_at_times(server: Server, counts: Counter[str]) -> None:
    if counts["kills"] % KILLS_PER_SERVICE_RESTART == 0:
        server.kill()
        server.start()
        counts["kills of the service"] += 1


def assert_bought_once(server: Server, program: Program) -> None:
    """Compare the service's jobs and charges with the history."""
    server.await_ready()
    prices = [cell.charge_micro_usd for cell in program.cells]
    assert jobs_of(server) == (60, 60, sum(prices))
    with program.connect() as client:
        jobs = [client.submit(cell.kind, **cell.call) for cell in program.cells]
        assert all(job.reused for job in jobs)
        charges = {job.id: job.settle().charge_micro_usd for job in jobs}
        assert list(charges.values()) == prices
        frame = client.history.frame().set_index("job_id")
        assert dict(frame["charge_micro_usd"]) == charges
        assert len(frame) == 60
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
    """Return the numbers of jobs and charges, and their sum, from the store."""
    with closing(server.store()) as db:
        (jobs,) = db.execute("SELECT count(*) FROM job").fetchone()
        charges = db.execute("SELECT count(*), sum(charge_micro_usd) FROM charge")
        return jobs, *charges.fetchone()


def summary(name: str, lasted_s: float, counts: Counter[str]) -> str:
    parts = ", ".join(f"{n} {name}" for name, n in sorted(counts.items()))
    return f"{name}, {lasted_s:.0f} s: {parts}."
