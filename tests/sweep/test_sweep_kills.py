"""Killed at any moment and run again, a sweep buys each of its cells once."""

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
from tests.support.process_lives import CONTEXT, KILLED, READ_BYTES, Program, listen
from tests.support.samples.media_samples import make_png
from tests.support.sandbox.killing import KEY, OPENING_USD, Server
from tests.support.soak import BOTH_DATABASES, trials

FILES, SHARPNESSES = trials(8, soak=24), trials(4, soak=10)
CELLS = FILES * SHARPNESSES
KILLS = trials(3, soak=20)
UPSCALE_MICRO_USD = 126_000
BUDGET_MICRO_USD = CELLS * UPSCALE_MICRO_USD
IN_FLIGHT = 4
PATIENCE_S = 240.0
# So that cells are left to be sent at most kills.
MOST_EVENTS = CELLS // (KILLS + 1) - IN_FLIGHT
PHASES = ("after a claim", "during a POST", "after an answer", "during an upload")
BEGUN = "begun"

CONTEXT.set_forkserver_preload(
    [
        "tests.support.process_lives",
        "tests.sweep.made_scorers",
        "mediakit.sweep.scoring",
        "mediakit.widgets.sweeps",
        __name__,
    ]
)


@dataclass(frozen=True)
class Sweep:
    """What each life does: the same plan, run under the same budget."""

    program: Program
    files: tuple[str, ...]

    def plan(self, client: mk.Client) -> Plan:
        """Return the plan."""
        sharpnesses = [number / 10 for number in range(SHARPNESSES)]
        files = list(self.files)
        return client.sweep("image-upscale", image_url=files, sharpen=sharpnesses)

    def live(self, told: connection.Connection) -> None:
        """Run the plan to its end, and tell each phase as it begins."""

        def tell(phase: str) -> None:
            os.write(told.fileno(), f"{phase}\n".encode())

        listen(tell)
        with self.program.connect() as client:
            plan = self.plan(client)
            tell(BEGUN)
            budget = format_usd(BUDGET_MICRO_USD)
            progress = plan.run(budget, IN_FLIGHT).wait(PATIENCE_S).progress
            assert progress.completed == CELLS, progress


@dataclass(frozen=True)
class Kill:
    """When a life is killed."""

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
    with closing(History(history)) as remembered:
        while counts["kills"] < KILLS:
            has_rest = jobs_of(server)[0] < CELLS
            kill = Kill(
                random.choice(PHASES),
                random.randint(1, MOST_EVENTS),
                random.choice([0.0, 0.0, random.uniform(0, 0.05)]),
                latest_s=PATIENCE_S if has_rest else random.uniform(0, 0.1),
            )
            exit_code = live(sweep, kill)
            assert exit_code in (0, KILLED)
            if exit_code == KILLED:
                counts["kills"] += 1
                look(server, remembered, counts)
        assert live(sweep, None) == 0

    what = ", ".join(f"{n} {name}" for name, n in sorted(counts.items()))
    tell(f"A sweep of {CELLS} cells, {time.monotonic() - began_s:.0f} s: {what}.")
    assert counts["kills with cells still to be sent"] >= KILLS / 2
    assert jobs_of(server) == (CELLS, CELLS, BUDGET_MICRO_USD)
    assert_owned(sweep)
    assert jobs_of(server) == (CELLS, CELLS, BUDGET_MICRO_USD)


def live(sweep: Sweep, kill: Kill | None) -> int:
    """Let a process run the sweep, and kill it at its moment."""
    hears, told = CONTEXT.Pipe(duplex=False)
    process = CONTEXT.Process(target=sweep.live, args=(told,))
    process.start()
    told.close()
    phases, ends_at_s = Counter[str](), time.monotonic() + PATIENCE_S
    with closing(hears):
        while hears.poll(max(0.0, ends_at_s - time.monotonic())):
            heard = os.read(hears.fileno(), READ_BYTES)
            if not heard:
                break  # it is over
            phases.update(heard.decode().splitlines())
            if kill is not None:
                ends_at_s = min(ends_at_s, moment_s(kill, phases))
    if kill is None:
        process.join(PATIENCE_S)
    if process.is_alive():
        process.kill()
    process.join()
    return process.exitcode or 0


def moment_s(kill: Kill, phases: Counter[str]) -> float:
    """Return when a life is killed, by what it has told until now."""
    if phases[kill.phase] >= kill.number:
        return time.monotonic() + kill.delay_s
    return time.monotonic() + (kill.latest_s if phases[BEGUN] else PATIENCE_S)


def look(server: Server, remembered: History, counts: Counter[str]) -> None:
    """Look at what a kill left behind."""
    service = Service(server.base_url, KEY)
    owner = {"service": service.identity, "account": service.account}
    unanswered = remembered.unanswered_entries(**owner)
    counts["kills with submits that were not answered"] += bool(unanswered)
    made, _, _ = jobs_of(server)
    counts["kills with cells still to be sent"] += made < CELLS


def jobs_of(server: Server) -> tuple[int, int, int]:
    """Return its jobs, its charges, and what they cost, as its store tells."""
    with closing(server.store()) as db:
        (jobs,) = db.execute("SELECT count(*) FROM job").fetchone()
        charges = db.execute("SELECT count(*), sum(charge_micro_usd) FROM charge")
        return jobs, *charges.fetchone()


def assert_owned(sweep: Sweep) -> None:
    """Compare what the service sold with what is remembered; the plan costs nothing."""
    with sweep.program.connect() as client:
        plan = sweep.plan(client)
        assert f"{CELLS} owned, 0 new: $0.00" in repr(plan)
        frame = plan.run().wait(PATIENCE_S).frame()
        assert set(frame["status"]) == {"completed"}
        assert frame["job_id"].nunique() == CELLS
        assert frame["charge_micro_usd"].sum() == BUDGET_MICRO_USD
        assert len(client.history.frame()) == CELLS
        assert client.reserved_micro_usd() == 0
        use = client.components.store.sweep_use(plan.id)
        assert (use.spent_micro_usd, use.reserved_micro_usd) == (BUDGET_MICRO_USD, 0)
        drop = OPENING_USD * MICRO_PER_USD - client.balance().balance_micro_usd
        assert drop == BUDGET_MICRO_USD
