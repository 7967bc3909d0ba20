"""The sidecar of a saved result: a JSON file that records its origin."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any, Literal, TypeGuard

from pydantic import Field

from mediakit.client.idempotency import draw_key_of, key_of
from mediakit.client.job_state import JobState
from mediakit.client.service import Service
from mediakit.history import Entry, Upload
from mediakit.rates import EstimateKind
from mediakit.records import (
    LARGEST_CHARGE_MICRO_USD,
    Record,
    UTCInstant,
    without_lone_surrogates,
)
from mediakit.schema import canonical_json
from mediakit.urls import shown_url

VERSION: Literal[1] = 1
SUFFIX = ".json"

Count = Annotated[int, Field(ge=1, le=2**31 - 1, strict=True)]
SizeBytes = Annotated[int, Field(ge=0, le=2**63 - 1, strict=True)]
Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
Money = Annotated[int, Field(ge=0, le=LARGEST_CHARGE_MICRO_USD, strict=True)]


class Input(Record):
    """An uploaded file that a request names by its URL."""

    url: str
    sha256: Sha256
    size_bytes: SizeBytes
    content_type: str


class Sidecar(Record):
    """The content of a sidecar; None for unknown values.

    URLs are written without passwords and signatures, because the file may be shared.
    If that changes the body, the bytes that were sent are unknown to a reader.
    """

    mediakit: Literal[1] = VERSION
    job_id: str
    service: str
    account: str | None = None
    function: str | None = None
    kind: str | None = None
    prompt: str | None = None
    body: dict[str, Any] | None = None
    take: Count | None = None
    attempt: Count | None = None
    key: str | None = None
    asked_key: str | None = None
    estimate_kind: EstimateKind | None = None
    estimate_low_micro_usd: Money | None = None
    estimate_high_micro_usd: Money | None = None
    project: str | None = None
    budget: str | None = None
    sweep: str | None = None
    inputs: tuple[Input, ...] = ()
    charge_micro_usd: Money | None = None
    submitted_at: UTCInstant | None = None
    finished_at: UTCInstant | None = None
    output_url: str | None = None
    content_type: str | None = None
    media_type: str | None = None
    size_bytes: SizeBytes | None = None
    sha256: Sha256 | None = None
    saved_at: UTCInstant | None = None

    @property
    def text(self) -> bytes:
        """Return the content of the file."""
        return self.model_dump_json(indent=2).encode() + b"\n"

    def is_of(self, job_id: str, service: Service) -> bool:
        """Return whether it belongs to the result of a job."""
        return (self.job_id, self.service) == (job_id, service.identity)

    @property
    def content(self) -> bytes | None:
        """Return the bytes that were sent; None if unknown.

        Those of a request with a `webhook_url`, or with URLs that were written without
        their secrets, are unknown. The key is derived from the bytes, so a file that
        was edited by hand is recognised and not mistaken for a request that was sent.
        """
        if None in (self.body, self.function, self.take, self.attempt, self.key):
            return None
        try:
            content = canonical_json(self.body or {})
        except ValueError:  # such as NaN, which no request can hold
            return None
        draw_key = self.draw_key(self.service, content)
        key = key_of(draw_key, self.take or 1, self.attempt or 1)
        return content if key == self.key else None

    def draw_key(self, service: str, content: bytes) -> str:
        """Return the key of a content of this request."""
        return draw_key_of(service, self.function or "", content)


def sidecar_of(
    state: JobState,
    entry: Entry | None,
    service: Service,
    *,
    size_bytes: int,
    sha256: str,
    saved_at: datetime,
    inputs: Sequence[Upload] = (),
) -> Sidecar:
    """Return the sidecar of a saved result."""
    output = state.record.output
    file = output.file if output else None
    known = entry.charge_micro_usd if entry else None
    return Sidecar.model_validate(
        {
            "job_id": state.record.id,
            "service": service.identity,
            "account": service.account,
            "function": entry.function if entry else state.record.model_id,
            "kind": state.kind,
            "prompt": state.prompt,
            **_request_of(entry),
            "inputs": [asdict(each) for each in inputs if _is_shown(each.url)],
            "charge_micro_usd": state.charge_micro_usd if known is None else known,
            "submitted_at": state.submitted_at,
            "finished_at": state.finished_at,
            "output_url": shown_url(file.url) if file else None,
            "content_type": file.content_type if file else None,
            "media_type": state.media_type,
            "size_bytes": size_bytes,
            "sha256": sha256,
            "saved_at": saved_at,
        }
    )


def _request_of(entry: Entry | None) -> dict[str, Any]:
    if entry is None:
        return {}
    body = json.loads(entry.body)
    if isinstance(body, dict):
        body.pop("webhook_url", None)  # may hold a token, and the file may be shared
    return {
        "body": _with_shown_urls(body),
        "take": entry.take,
        "attempt": entry.attempt,
        "key": entry.key,
        "asked_key": entry.asked_key,
        "estimate_kind": entry.estimate_kind,
        "estimate_low_micro_usd": entry.estimate_low_micro_usd,
        "estimate_high_micro_usd": entry.estimate_high_micro_usd,
        "project": entry.project,
        "budget": entry.budget,
        "sweep": entry.sweep,
    }


def _is_shown(url: str) -> bool:
    return shown_url(url) == url


def _with_shown_urls(value: Any) -> Any:
    """Remove passwords and signatures from the URLs in a body, at any depth."""
    if isinstance(value, dict):
        return {name: _with_shown_urls(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_with_shown_urls(each) for each in value]
    return shown_url(value) if _is_url(value) else value


def _is_url(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and value.startswith(("http://", "https://"))


def urls_in(body: object) -> Iterator[str]:
    """Return every URL in a body, at any depth."""
    if isinstance(body, Mapping):
        body = list(body.values())
    if isinstance(body, list):
        for item in body:
            yield from urls_in(item)
    elif _is_url(body):
        yield body


def read_sidecar(content: bytes) -> Sidecar | None:
    """Read the content of a file; None if it is not a sidecar.

    Raises:
        ValueError: It is a sidecar, but not as it was written.
    """
    try:
        found = without_lone_surrogates(json.loads(content))
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or found.get("mediakit") != VERSION:
        return None
    return Sidecar.model_validate(found)
