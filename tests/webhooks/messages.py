"""Webhooks as the service sends them, signed with the standardwebhooks library."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import httpx
from standardwebhooks import Webhook

from mediakit.clock import SystemClock

SECRET = "whsec_" + "bWVkaWFraXQncyB0ZXN0cywgYSBzZWNyZXQh"
OTHER_SECRET = "whsec_" + "YW5vdGhlciBzZWNyZXQgb2YgdGhpcnR5LXR3byBieSE="


@dataclass(frozen=True)
class Message:
    """One delivery."""

    headers: dict[str, str]
    body: bytes

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]


def post(url: str, sent: Message) -> httpx.Response:
    """Send a delivery."""
    with httpx.Client(trust_env=False, verify=False, timeout=120) as http:
        return http.post(url, content=sent.body, headers=sent.headers)


def job_record(**more: Any) -> dict[str, Any]:
    """Return a completed job as an event shows it, from spec 2.1."""
    video = {"url": "https://media.test/kite.mp4", "content_type": "video/mp4"}
    return {
        "id": "media_6f1f7ca8-7d40-4ba1-a01c-33b1c6d5b2a1",
        "status": "completed",
        "output": {"media_type": "video", "video": video},
        "error": None,
        "usage": {"output_seconds": 3},
        "billing": None,
        "model_id": "sandbox/text-to-video/text-to-video",
        "runtime_s": 1.5,
        **more,
    }


def body_of(kind: str = "media.job.completed", **more: Any) -> bytes:
    """Write an event."""
    event = {"type": kind, "timestamp": "2026-03-01T12:00:00.123+00:00", **more}
    return json.dumps({"data": job_record(), **event}).encode()


def message(
    body: bytes | None = None,
    *,
    secrets: Iterable[str] = (SECRET,),
    at: datetime | None = None,
    event_id: str | None = None,
) -> Message:
    """Sign a delivery."""
    body = body_of() if body is None else body
    event_id = event_id or f"msg_{uuid4()}"
    sent_at = (at or SystemClock().now()).astimezone(UTC)
    signatures = [
        Webhook(secret).sign(event_id, sent_at, body.decode("utf-8"))
        for secret in secrets
    ]
    headers = {
        "webhook-id": event_id,
        "webhook-timestamp": str(int(sent_at.timestamp())),
        "webhook-signature": " ".join(signatures),
    }
    return Message(headers, body)
