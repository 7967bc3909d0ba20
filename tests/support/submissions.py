"""Submissions and job records for tests of the history."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mediakit.api_models import JobRecord
from mediakit.history import Preference, Submission
from tests.support import zygote
from tests.support.zygote import Process

START = datetime(2026, 10, 1, 9, 30, tzinfo=UTC)
HERE = {"service": "sandbox", "account": "mine"}
URL = "http://127.0.0.1:8000/files/out.mp4"
OUTPUT = {"media_type": "video", "video": {"url": URL, "content_type": "video/mp4"}}
KITE = {"prompt": "a kite", "duration": 5}


def submission(key: str = "k1", **changes: Any) -> Submission:
    """Return a submission: a kite for $0.34, unless given otherwise."""
    plain = Submission(
        key=key,
        draw_key="d1",
        asked_key=key,
        function="sandbox/text-to-video/text-to-video",
        kind="text-to-video",
        body=json.dumps(KITE).encode(),
        prompt="a kite",
        webhook_url=None,
        take=1,
        attempt=1,
        estimate_kind="exact",
        estimate_low_micro_usd=340_000,
        estimate_high_micro_usd=340_000,
        reserved_micro_usd=340_000,
        project=None,
        **HERE,
    )
    return replace(plain, **changes)


def preference(winner: str, loser: str, *, tie: bool = False) -> Preference:
    """Return a comparison of two jobs."""
    return Preference(winner, loser, tie, rater="", at=START)


def costing(key: str, micro_usd: int, **changes: Any) -> Submission:
    """Return a submission with an exact price."""
    return submission(
        key,
        estimate_low_micro_usd=micro_usd,
        estimate_high_micro_usd=micro_usd,
        reserved_micro_usd=micro_usd,
        **changes,
    )


def job(status: str = "queued", job_id: str = "media_1", **fields: Any) -> JobRecord:
    """Return a record of a job."""
    return JobRecord.model_validate({"id": job_id, "status": status, **fields})


def completed(charge_micro_usd: int = 340_000, **fields: Any) -> JobRecord:
    """Return the record of a job that was charged."""
    billing = {"state": "settled", "charge_micro_usd": charge_micro_usd}
    return job("completed", output=OUTPUT, billing=billing, **fields)


def failed(code: str = "provider_error", **fields: Any) -> JobRecord:
    """Return the record of a job that failed."""
    return job("failed", error={"code": code, "message": "no luck"}, **fields)


def start(script: str, place: str | Path, *more: str) -> Process:
    """Run a script in a separate process; the location is its first argument."""
    return zygote.start(script, str(place), *more)


def race(processes: list[Process]) -> list[str]:
    """Start waiting processes at the same time; return their output."""
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    printed = [process.finish()[0] for process in processes]
    assert [process.returncode for process in processes] == [0] * len(processes)
    return printed
