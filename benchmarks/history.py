"""A history of 100,000 jobs beside an empty one: a claim, and opening the file.

A claim compares the price with the balance, a budget and a sweep's limit, and commits
the submission. All jobs of the long history are settled and count against that budget
and that sweep, which is the worst case. Both histories take turns, a block of claims
each, and each block of the long history is compared with the block of the empty one
beside it.

To sum the budget's entries at each claim instead takes ten times as long as a claim:
so the totals are kept. The sum is measured with an index that holds all that it reads,
and shown without a limit.

Limits:

- A claim: at most 3 times as long as in an empty history.
- Opening: at most 0.2 s.
- Opening, which looks at the version: at most 1.5 times as long as connecting the same
  way and reading one row.

Set `BENCHMARK_ROUNDS` for another number of rounds.
"""

from __future__ import annotations

import os
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from itertools import count
from pathlib import Path

from sqlalchemy import QueuePool, create_engine, event, select

from mediakit.api_models import BillingState, JobStatus
from mediakit.history import (
    BudgetLimit,
    Entry,
    EntryState,
    History,
    Spendable,
    Submission,
    importing,
)
from mediakit.history.tables import schema_version

ROUNDS = int(os.environ.get("BENCHMARK_ROUNDS", "7"))
JOBS = 100_000
CLAIMS = 200
MAX_CLAIM = 3.0
"""A claim in the long history as a multiple of one in an empty history."""

MAX_OPEN_S = 0.2
MAX_OPEN = 1.5
"""Opening as a multiple of connecting and reading a row."""
OPENS = 40
PRICE_MICRO_USD = 340_000
PLENTY_MICRO_USD = 10**12
BUDGET = BudgetLimit("the project", PLENTY_MICRO_USD)
SWEEP = BudgetLimit("the sweep", PLENTY_MICRO_USD)
OWNER = {"service": "https://api.example", "account": "mine"}
STARTED = datetime(2026, 10, 1, tzinfo=UTC)
NUMBERS = count(1)
INDEX = (
    "CREATE INDEX plain ON mediakit_entries "
    "(budget, state, charge_micro_usd, reserved_micro_usd)"
)
SUM = (
    "SELECT sum(charge_micro_usd), "
    "sum(CASE WHEN state != 'settled' THEN reserved_micro_usd END) "
    "FROM mediakit_entries WHERE budget = ?"
)


def submission(key: str) -> Submission:
    """Return what is claimed."""
    return Submission(
        key=key,
        draw_key=key,
        asked_key=key,
        function="example/text-to-video/text-to-video",
        kind="text-to-video",
        body=b'{"duration": 5, "prompt": "a kite over the dunes"}',
        prompt="a kite over the dunes",
        webhook_url=None,
        take=1,
        attempt=1,
        estimate_kind="exact",
        estimate_low_micro_usd=PRICE_MICRO_USD,
        estimate_high_micro_usd=PRICE_MICRO_USD,
        reserved_micro_usd=PRICE_MICRO_USD,
        project=None,
        budget=BUDGET.name,
        sweep=SWEEP.name,
        **OWNER,
    )


def settled(number: int) -> Entry:
    """Return a job of the past."""
    asked = submission(f"past {number:064}")
    at = STARTED + timedelta(seconds=number)
    return Entry(
        **vars(asked),
        number=number,
        state=EntryState.SETTLED,
        job_id=f"media_{number}",
        status=JobStatus.COMPLETED,
        error_code=None,
        error_message=None,
        billing_state=BillingState.SETTLED,
        charge_micro_usd=PRICE_MICRO_USD,
        restated_charge_micro_usd=None,
        output_url=f"https://files.example/{number}.mp4",
        content_type="video/mp4",
        media_type="video",
        created_at=at,
        submitted_at=at,
        finished_at=at,
        settled_at=at,
        deleted_at=None,
        gone_at=None,
    )


def timed(call: Callable[[], object]) -> float:
    """Return the seconds of a call."""
    began_s = time.perf_counter()
    call()
    return time.perf_counter() - began_s


def claim(history: History) -> None:
    spendable = Spendable(
        PLENTY_MICRO_USD, history.account_use(**OWNER).spent_micro_usd
    )
    asked = submission(f"now {next(NUMBERS):064}")
    _, is_new = history.claim(asked, spendable=spendable, budget=BUDGET, sweep=SWEEP)
    assert is_new, "a claim found what was not there"


def claims_us(history: History) -> float:
    """Return the median microseconds of a block of claims."""
    return 1e6 * statistics.median(timed(lambda: claim(history)) for _ in range(CLAIMS))


def open_and_close(place: Path) -> None:
    History(place).close()


def connect_and_close(place: Path) -> None:
    """Do what opening did before there were migrations, and nothing else."""
    engine = create_engine(f"sqlite:///{place}", poolclass=QueuePool)
    event.listen(engine, "connect", _prepare)
    with engine.connect() as connection:
        assert connection.dialect.has_table(connection, schema_version.name)
        connection.execute(select(schema_version.c.version)).scalars().all()
    engine.dispose()


def _prepare(connection: sqlite3.Connection, _: object) -> None:
    connection.isolation_level = None
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=NORMAL")


def measure(folder: Path, rounds: dict[str, list[float]]) -> None:
    long, empty = folder / "long.db", folder / "empty.db"
    with History(long) as history:
        importing.import_entries(history, map(settled, range(JOBS)))
    open_and_close(empty)
    for _ in range(ROUNDS):
        rounds["open, empty"].append(1e3 * timed(lambda: open_and_close(empty)))
        rounds["open"].append(1e3 * timed(lambda: open_and_close(long)))
    for _ in range(OPENS):
        rounds["connect"].append(1e3 * timed(lambda: connect_and_close(long)))
        rounds["open again"].append(1e3 * timed(lambda: open_and_close(long)))
    with History(long) as a, History(empty) as b:
        for history in (a, b):
            claims_us(history)
        for _ in range(ROUNDS):
            rounds["claim, empty"].append(claims_us(b))
            rounds["claim"].append(claims_us(a))
    with closing(sqlite3.connect(long)) as plain:
        plain.execute(INDEX)
        rounds["sum"] = [
            1e6 * timed(lambda: plain.execute(SUM, (BUDGET.name,)).fetchone())
            for _ in range(ROUNDS)
        ]


def line(name: str, values: list[float], unit: str, digits: int, note: str = "") -> str:
    low, high = min(values), max(values)
    return (
        f"  {name:46} {statistics.median(values):8,.{digits}f} {unit}"
        f" ({low:,.{digits}f} to {high:,.{digits}f}){f'; {note}' if note else ''}"
    )


def ratios(rounds: dict[str, list[float]], ours: str, beside: str) -> list[float]:
    return [a / b for a, b in zip(rounds[ours], rounds[beside], strict=True)]


def main() -> int:
    """Measure in turn, print the table, and return the exit status."""
    names: tuple[str, ...] = ("open, empty", "open", "connect", "open again")
    names += ("claim, empty", "claim", "sum")
    rounds: dict[str, list[float]] = {name: [] for name in names}
    with tempfile.TemporaryDirectory(prefix="mediakit-benchmark-") as folder:
        measure(Path(folder), rounds)
    libraries = f"SQLAlchemy {version('sqlalchemy')}, SQLite {sqlite3.sqlite_version}"
    print(f"{ROUNDS} rounds, Python {sys.version.split()[0]}, {libraries}")
    print(f"a history of {JOBS:,} jobs beside an empty one")
    print(line("a claim, empty history", rounds["claim, empty"], "us", 0))
    print(line("a claim, long history", rounds["claim"], "us", 0))
    claims = ratios(rounds, "claim", "claim, empty")
    print(line("long / empty, claim", claims, "", 2, f"at most {MAX_CLAIM}"))
    print(line("the plain sum of a budget", rounds["sum"], "us", 0))
    print(line("opening, empty history", rounds["open, empty"], "ms", 1))
    limit = f"at most {1e3 * MAX_OPEN_S:.0f} ms"
    print(line("opening, long history", rounds["open"], "ms", 1, limit))
    opens = ratios(rounds, "open", "open, empty")
    print(line("long / empty, opening", opens, "", 2))
    again, connecting = rounds["open again"], rounds["connect"]
    print(line("connecting and reading a row", connecting, "ms", 1))
    migrating = statistics.median(again) / statistics.median(connecting)
    limit = f"at most {MAX_OPEN}"
    print(line("opening / connecting", [migrating], "", 2, limit))
    held = {
        f"opening, {migrating:.2f} times a connection": migrating <= MAX_OPEN,
        f"a claim, {statistics.median(claims):.2f} times": statistics.median(claims)
        <= MAX_CLAIM,
        f"opening, {statistics.median(rounds['open']):.0f} ms": statistics.median(
            rounds["open"]
        )
        <= 1e3 * MAX_OPEN_S,
    }
    missed = [name for name, is_held in held.items() if not is_held]
    print("\n  ".join(["Limits missed:", *missed]) if missed else "All limits hold.")
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
