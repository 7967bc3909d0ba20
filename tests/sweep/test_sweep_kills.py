"""A sweep that is killed at any moment and rerun buys each of its cells once."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from multiprocessing import connection
from pathlib import Path
from random import Random

import pytest

import mediakit as mk
from mediakit.client import Service
from mediakit.history import History
from mediakit.money import MICRO_PER_USD, format_usd
from mediakit.sweep import Plan
from tests.support.killable_workers import (
    CONTEXT,
    KILLED,
    READ_BYTES,
    Program,
    report_phases,
)
from tests.support.samples.media_samples import make_png
from tests.support.sandbox.killing import KEY, OPENING_USD, Server
from tests.support.soak import BOTH_DATABASES, trials

FILES, SHARPNESSES = trials(8, soak=24), trials(4, soak=10)
CELLS = FILES * SHARPNESSES
KILLS = trials(3, soak=20)
UPSCALE_MICRO_USD = 126_000
BUDGET_MICRO_USD = CELLS * UPSCALE_MICRO_USD
IN_FLIGHT = 4
TIMEOUT_S = 240.0
# Low enough that most kills leave unsent cells.
MOST_EVENTS = CELLS // (KILLS + 1) - IN_FLIGHT
PHASES = ("after a claim", "during a POST", "after a response", "during an upload")
BEGUN = "begun"

CONTEXT.set_forkserver_preload(
    [
        "tests.support.killable_workers",
        "tests.sweep.made_scorers",
        "mediakit.sweep.scoring",
        "mediakit.widgets.sweeps",
        __name__,
    ]
)


@dataclass(frozen=True)
class Sweep:
    """The work of each process: the same plan, run under the same budget."""

    program: Program
    files: tuple[str, ...]

    def plan(self, client: mk.Client) -> Plan:
        """Return the plan."""
        sharpnesses = [number / 10 for number in range(SHARPNESSES)]
        files = list(self.files)
        return client.sweep("image-upscale", image_url=files, sharpen=sharpnesses)

    def run(self, reports: connection.Connection) -> None:
        """Run the plan to its end, and report each phase as it begins."""

        def report(phase: str) -> None:
            os.write(reports.fileno(), f"{phase}\n".encode())

        report_phases(report)
        with self.program.connect() as client:
            plan = self.plan(client)
            report(BEGUN)
            budget = format_usd(BUDGET_MICRO_USD)
            progress = plan.run(budget, IN_FLIGHT).wait(TIMEOUT_S).progress
            assert progress.completed == CELLS, progress


@dataclass(frozen=True)
class Kill:
    """The time at which a process is killed."""

    phase: str
    number: int
    delay_s: float
    latest_s: float


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
def sweep(server: Server, history: str, tmp_path: Path) -> Sweep:
    files = [
        str(make_png(tmp_path / f"{number}.png", (16, 12), (number, 0, 0)))
        for number in range(FILES)
    ]
    return Sweep(Program(server.base_url, KEY, history, ()), tuple(files))


@pytest.mark.xdist_group("forks")
def test_a_sweep_that_is_killed_and_run_again_pays_for_each_cell_once(
    server: Server, history: str, sweep: Sweep, tell: Callable[[str], None]
) -> None:
    random, counts = Random(11), Counter[str]()
    began_s = time.monotonic()
    with closing(History(history)) as store:
        while counts["kills"] < KILLS:
            is_unfinished = jobs_of(server)[0] < CELLS
            kill = Kill(
                random.choice(PHASES),
                random.randint(1, MOST_EVENTS),
                random.choice([0.0, 0.0, random.uniform(0, 0.05)]),
                latest_s=TIMEOUT_S if is_unfinished else random.uniform(0, 0.1),
            )
            exit_code = run_process(sweep, kill)
            assert exit_code in (0, KILLED)
            if exit_code == KILLED:
                counts["kills"] += 1
                count_unfinished(server, store, counts)
        assert run_process(sweep, None) == 0

    parts = ", ".join(f"{n} {name}" for name, n in sorted(counts.items()))
    tell(f"A sweep of {CELLS} cells, {time.monotonic() - began_s:.0f} s: {parts}.")
    assert counts["kills with unsent cells"] >= KILLS / 2
    assert jobs_of(server) == (CELLS, CELLS, BUDGET_MICRO_USD)
    assert_owned(sweep)
    assert jobs_of(server) == (CELLS, CELLS, BUDGET_MICRO_USD)


def run_process(sweep: Sweep, kill: Kill | None) -> int:
    """Run the sweep in a process, and kill it at its time; return its exit code."""
    reports, sender = CONTEXT.Pipe(duplex=False)
    process = CONTEXT.Process(target=sweep.run, args=(sender,))
    process.start()
    sender.close()
    phases, deadline_s = Counter[str](), time.monotonic() + TIMEOUT_S
    with closing(reports):
        while reports.poll(max(0.0, deadline_s - time.monotonic())):
            lines = os.read(reports.fileno(), READ_BYTES)
            if not lines:
                break  # the process has ended
            phases.update(lines.decode().splitlines())
            if kill is not None:
                deadline_s = min(deadline_s, kill_time_s(kill, phases))
    if kill is None:
        process.join(TIMEOUT_S)
    if process.is_alive():
        process.kill()
    process.join()
    return process.exitcode or 0


def kill_time_s(kill: Kill, phases: Counter[str]) -> float:
    """Return when to kill a process, given its reported phases."""
    if phases[kill.phase] >= kill.number:
        return time.monotonic() + kill.delay_s
    return time.monotonic() + (kill.latest_s if phases[BEGUN] else TIMEOUT_S)


def count_unfinished(server: Server, store: History, counts: Counter[str]) -> None:
    """Count unanswered submissions and unsent cells after a kill."""
    service = Service(server.base_url, KEY)
    owner = {"service": service.identity, "account": service.account}
    unanswered = store.unanswered_entries(**owner)
    counts["kills with unanswered submissions"] += bool(unanswered)
    jobs, _, _ = jobs_of(server)
    counts["kills with unsent cells"] += jobs < CELLS


def jobs_of(server: Server) -> tuple[int, int, int]:
    """Return the numbers of jobs and charges, and their sum, from the store."""
    with closing(server.store()) as db:
        (jobs,) = db.execute("SELECT count(*) FROM job").fetchone()
        charges = db.execute("SELECT count(*), sum(charge_micro_usd) FROM charge")
        return jobs, *charges.fetchone()


def assert_owned(sweep: Sweep) -> None:
    """Compare the service's charges with the history; running the plan is free."""
    with sweep.program.connect() as client:
        plan = sweep.plan(client)
        assert f"{CELLS} owned, 0 new: $0.00" in repr(plan)
        frame = plan.run().wait(TIMEOUT_S).frame()
        assert set(frame["status"]) == {"completed"}
        assert frame["job_id"].nunique() == CELLS
        assert frame["charge_micro_usd"].sum() == BUDGET_MICRO_USD
        assert len(client.history.frame()) == CELLS
        assert client.reserved_micro_usd() == 0
        use = client.components.store.sweep_use(plan.id)
        assert (use.spent_micro_usd, use.reserved_micro_usd) == (BUDGET_MICRO_USD, 0)
        drop = OPENING_USD * MICRO_PER_USD - client.balance().balance_micro_usd
        assert drop == BUDGET_MICRO_USD
