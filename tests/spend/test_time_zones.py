"""Days are UTC days wherever the machine is."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.servers.serving import ROOT

# At half past nine in the evening in UTC, the day is another one in two of these.
ZONES = ("America/Los_Angeles", "Asia/Kolkata", "Pacific/Kiritimati")
SCRIPT = """
import asyncio, time
import pandas as pd
from datetime import UTC, datetime
from tests.support.virtual_clock import VirtualClock
from mediakit.history import History
from tests.support.submissions import completed, submission
from tests.spend.books import Books, SERVICE, charged, spend_of

now = datetime(2026, 11, 2, 21, 30, tzinfo=UTC)
days = ["10-01", "10-31", "11-01", "11-02"]
rows = [charged(f"2026-{day}", 10**n) for n, day in enumerate(days)]
clock = VirtualClock(datetime(2026, 10, 31, 23, 59, 59, tzinfo=UTC))

async def show(spend):
    daily = await spend.daily("2026-10-01", "2026-11-02")
    frames = [
        daily,
        await spend.daily("2026-11-01", by="function"),
        await spend.daily(by="project"),
        await spend.charges(),
        await spend.charges("2026-11-01"),
        await spend.charges(None, "2026-10-31"),
    ]
    names = ["day", "charge_micro_usd", "complete", "settled_at"]
    for frame in frames:
        there = [name for name in names if name in frame]
        print(frame[there].astype(str).to_csv(index=False))
    months = pd.concat([await spend.monthly(f"2026-{number}") for number in (10, 11)])
    this_month = (await spend.monthly())["month"].tolist()
    print(months["charge_micro_usd"].tolist(), this_month)

with History("sqlite://", clock=clock) as history:
    for number in range(2):
        key = f"k{number}"
        history.claim(submission(key, draw_key=key, service=SERVICE.identity))
        record = completed(5 + number).model_copy(update={"id": key})
        history.record_job(key, record)
        asyncio.run(clock.advance(1))
    with spend_of(Books(rows, now=now), history, now=now) as spend:
        asyncio.run(show(spend))
print(time.timezone)
"""


def printed_in(zone: str) -> tuple[str, str]:
    """Return what reports print in a process of this zone, and its offset."""
    process = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env={"TZ": zone, "PYTHONPATH": ":".join([str(ROOT / "src"), str(ROOT)])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    text, _, offset = process.stdout.rstrip().rpartition("\n")
    return text, offset


@pytest.mark.soak
def test_days_and_totals_are_the_same_in_three_time_zones() -> None:
    texts, offsets = zip(*map(printed_in, ZONES), strict=True)
    assert len(set(offsets)) == len(ZONES)  # each process is really elsewhere
    assert set(texts) == {texts[0]}
    assert "2026-10-01,1,True" in texts[0]
    assert "2026-11-02,1000,False" in texts[0]
    assert "2026-10-31,5,2026-10-31 23:59:59" in texts[0]
    assert "2026-11-01,6,2026-11-01 00:00:00" in texts[0]
    assert "[11, 1100]" in texts[0]
    assert "['2026-11']" in texts[0]
