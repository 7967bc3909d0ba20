"""Job states for tests of views, and a parser of the views' HTML."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from typing import Any

from mediakit.api_models import JobRecord
from mediakit.client import JobState
from mediakit.estimates import Estimate, EstimateKind
from mediakit.history.entry import ENTRY_FIELDS, EntryState, fresh_entry
from mediakit.money import MicroUSD
from tests.support.submissions import submission

JOB_ID = "media_0f3c9a1e-58c4-4f0e-9c1b-7d2f6e1b0042"
NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
URL = "https://media.test/files/kite.mp4"
EXACT = Estimate(MicroUSD(340_000), MicroUSD(340_000), EstimateKind.EXACT)
RANGE = Estimate(MicroUSD(970_704), MicroUSD(7_290_000), EstimateKind.UPPER_BOUND)
UNKNOWN = Estimate(None, None, EstimateKind.UNKNOWN)
BODY = {
    "prompt": "a kite over dunes",
    "duration": 5,
    "resolution": "720p",
    "aspect_ratio": "16:9",
    "audio": "off",
}
HOSTILE = '<script>canary()</script><img src=x onerror="canary()">\'"&</div>'


def settled(charge_micro_usd: int) -> dict[str, Any]:
    """Return the fields of a state that is settled at a charge."""
    billing = {"state": "settled", "charge_micro_usd": charge_micro_usd}
    return {"billing": billing, "charge_micro_usd": charge_micro_usd}


def state_of(status: str = "queued", **more: Any) -> JobState:
    """Return the state of a job that was submitted at noon.

    Args:
        status: Its status; a completed one has an output unless `url` is None.
        more: Parts of the record (`id`, `error`, `billing`, `deleted_at`,
            `runtime_s`), `url` and `media_type` of the output, and fields of the
            state.
    """
    record: dict[str, Any] = {"id": JOB_ID, "status": status}
    url = more.pop("url", URL if status == "completed" else None)
    media_type = more.get("media_type", "video")
    if url is not None:
        file = {"url": url, "content_type": f"{media_type}/x"}
        record["output"] = {"media_type": media_type, media_type: file}
    for key in ("id", "error", "billing", "deleted_at", "runtime_s"):
        if key in more:
            record[key] = more.pop(key)
    read = JobRecord.model_validate(record)
    fields: dict[str, Any] = {"media_type": media_type, "service": "sandbox"}
    estimate = more.pop("estimate", EXACT)
    known: dict[str, Any] = {
        "state": EntryState.SUBMITTED,
        "job_id": read.id,
        "status": read.status,
        "submitted_at": NOON,
    }
    if status != "queued":
        fields["started_at"] = NOON + timedelta(seconds=3.9)
    if status in ("completed", "failed"):
        known["finished_at"] = NOON + timedelta(seconds=12.3)
    body = json.dumps(more.pop("body", BODY)).encode()
    price = (
        {}
        if estimate is None
        else {
            "estimate_kind": estimate.kind.value,
            "estimate_low_micro_usd": estimate.low,
            "estimate_high_micro_usd": estimate.high,
        }
    )
    asked = submission(prompt=BODY["prompt"], body=body, **price)
    # One that was submitted elsewhere is in no history.
    entry = fresh_entry(asked, number=int(estimate is not None), created_at=NOON)
    known |= {name: more.pop(name) for name in {*more} & {*ENTRY_FIELDS} - {*fields}}
    entry = replace(entry, **known)
    return JobState(entry=entry, record=read, **(fields | more))


def failed(code: str, message: str = "", **more: Any) -> JobState:
    """Return the state of a job that failed."""
    return state_of("failed", error={"code": code, "message": message}, **more)


class Markup(HTMLParser):
    """Parses HTML as a browser does: tags, attributes and text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(str(html))
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data

    def first(self, tag: str) -> dict[str, str | None] | None:
        """Return the attributes of the first such tag; None without one."""
        return next((attrs for name, attrs in self.tags if name == tag), None)

    def addresses(self) -> list[str]:
        """Return every URL that the markup links to or loads."""
        names = ("href", "src", "poster")
        return [attrs[n] or "" for _, attrs in self.tags for n in names if n in attrs]
