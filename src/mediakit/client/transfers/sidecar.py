"""The sidecar of a result: a JSON file that records its origin."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, TypeGuard

from mediakit.client.records.job_state import JobState
from mediakit.client.service import Service
from mediakit.history import Entry, Upload
from mediakit.records import without_lone_surrogates
from mediakit.urls import shown_url

VERSION = 1
SUFFIX = ".json"


@dataclass(frozen=True)
class Saved:
    """A saved file.

    Args:
        size_bytes: Its length.
        sha256: Its hash, in hex; None for a large file.
        saved_at: When it was saved.
    """

    size_bytes: int
    sha256: str | None
    saved_at: datetime


def sidecar_of(
    state: JobState,
    entry: Entry | None,
    service: Service,
    saved: Saved,
    inputs: Sequence[Upload] = (),
) -> dict[str, Any]:
    """Return the sidecar of a saved result; None for unknown values.

    Args:
        state: The job.
        entry: Its entry in the history; None if it was submitted elsewhere.
        service: The service of the job.
        saved: The saved file.
        inputs: The uploads that the request names: if the history is lost, the same
            files would get other URLs, and so change the request.

    URLs are written without passwords and signatures, because the file may be shared.
    If that changes the body, `rebuild` treats the request as unknown.
    """
    output = state.record.output
    file = output.file if output else None
    return {
        "mediakit": VERSION,
        "job_id": state.record.id,
        "service": service.identity,
        "account": service.account,
        "function": entry.function if entry else state.record.model_id,
        "kind": state.kind,
        "prompt": state.prompt,
        **_asked(entry),
        "inputs": [asdict(sent) for sent in inputs if shown_url(sent.url) == sent.url],
        "charge_micro_usd": state.charge_micro_usd,
        "submitted_at": _text(state.submitted_at),
        "finished_at": _text(state.finished_at),
        "output_url": shown_url(file.url) if file else None,
        "content_type": file.content_type if file else None,
        "media_type": state.media_type,
        "size_bytes": saved.size_bytes,
        "sha256": saved.sha256,
        "saved_at": _text(saved.saved_at),
    }


def _asked(entry: Entry | None) -> dict[str, Any]:
    names = (
        "take",
        "attempt",
        "key",
        "asked_key",
        "estimate_kind",
        "estimate_low_micro_usd",
        "estimate_high_micro_usd",
        "project",
        "budget",
        "sweep",
    )
    known = {name: getattr(entry, name) if entry else None for name in names}
    body = json.loads(entry.body) if entry else None
    if isinstance(body, dict):
        body.pop("webhook_url", None)  # may hold a token, and the file may be shared
    return {"body": _with_shown_urls(body), **known}


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


def _text(instant: datetime | None) -> str | None:
    return instant.isoformat() if instant else None


def written(sidecar: Mapping[str, Any]) -> bytes:
    """Return the content of a sidecar's file."""
    return json.dumps(sidecar, indent=2, ensure_ascii=False).encode() + b"\n"


def read_sidecar(content: bytes) -> dict[str, Any] | None:
    """Parse the content of a sidecar's file; None if it is not a sidecar."""
    try:
        found = without_lone_surrogates(json.loads(content))
    except (ValueError, RecursionError):
        return None
    is_ours = isinstance(found, dict) and found.get("mediakit") == VERSION
    return found if is_ours else None


def is_of(sidecar: Mapping[str, Any] | None, job_id: str, service: Service) -> bool:
    """Return whether a sidecar belongs to the result of a job."""
    if sidecar is None:
        return False
    named = (sidecar.get("job_id"), sidecar.get("service"))
    return named == (job_id, service.identity)
