"""The delivery log (spec 4.20)."""

import json
import re
from collections.abc import Collection
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from mediakit.sandbox.core.request_body import refused
from mediakit.sandbox.core.responses import RequestError
from mediakit.sandbox.core.service import Service, caller_of, service_of
from mediakit.sandbox.store.events import deliveries, endpoints
from mediakit.sandbox.store.events.deliveries import AttemptRow, DeliveryRow, Page
from mediakit.sandbox.timing.clock import iso

MAX_LIMIT, DEFAULT_LIMIT = 100, 20
PARAMETERS = ("endpoint_id", "status", "source_id", "limit", "cursor")
# Opaque to clients; after the dash is a position in the log.
CURSOR_PATTERN = "^before-[1-9][0-9]{0,17}$"
_CURSOR = re.compile(CURSOR_PATTERN)


async def read_all(request: Request) -> Response:
    """Handle GET /v1/webhooks/deliveries with a page, newest first."""
    service, caller = service_of(request), caller_of(request)
    page = _page(request)
    # One row more than the limit shows whether there is another page.
    wider = Page(page.endpoint, page.status, page.job, page.before_seq, page.limit + 1)
    found = deliveries.listed(service.db, caller.org, wider)
    shown_rows = found[: page.limit]
    more = len(found) > page.limit
    return JSONResponse(
        {
            "data": [delivery_object(row) for row in shown_rows],
            "next_cursor": _cursor(shown_rows[-1].seq) if more else None,
        }
    )


async def read(request: Request) -> Response:
    """Handle GET /v1/webhooks/deliveries/{delivery_id}, its event included."""
    delivery = _asked_for(request)
    body = deliveries.body_of(service_of(request).db, delivery.event)
    return JSONResponse(delivery_object(delivery) | {"event": json.loads(body)})


async def attempts(request: Request) -> Response:
    """Handle GET .../attempts with every attempt, in order."""
    delivery = _asked_for(request)
    rows = deliveries.attempts_of(service_of(request).db, delivery.id)
    return JSONResponse({"data": [_attempt_object(row) for row in rows]})


async def replay(request: Request) -> Response:
    """Handle POST .../replay: send it again, under its `webhook-id` (spec 3.2)."""
    service, delivery = service_of(request), _asked_for(request)
    url = _receiver(service, delivery)
    now_us = service.clock.now_us()
    if not deliveries.replay(service.db, delivery.id, url, now_us):
        raise RequestError(
            409,
            f"The delivery is {delivery.status}: only a delivered or failed one can "
            "be sent again.",
        )
    service.deliveries.wake()
    return JSONResponse(delivery_object(_asked_for(request)))


def delivery_object(delivery: DeliveryRow) -> dict[str, Any]:
    """Return a delivery as the log shows it; the shape is the sandbox's own."""
    return {
        "id": delivery.id,
        "status": delivery.status,
        "event_id": delivery.event,
        "event_type": delivery.event_type,
        "source_id": delivery.job,
        "endpoint_id": delivery.endpoint,
        "url": delivery.url,
        "attempts": delivery.attempts_n,
        "created_at": iso(delivery.created_us),
        "next_attempt_at": _iso_or_none(delivery.due_us),
        "ended_at": _iso_or_none(delivery.ended_us),
    }


def _attempt_object(attempt: AttemptRow) -> dict[str, Any]:
    return {
        "number": attempt.n,
        "attempted_at": iso(attempt.at_us),
        "status_code": attempt.status_code,
        "reason": attempt.reason,
        "duration_ms": attempt.duration_ms,
    }


def _iso_or_none(us: int | None) -> str | None:
    return None if us is None else iso(us)


def _asked_for(request: Request) -> DeliveryRow:
    service, caller = service_of(request), caller_of(request)
    delivery = deliveries.find(service.db, request.path_params["delivery_id"])
    if delivery is None or delivery.org != caller.org:
        raise RequestError(
            404, "There is no delivery with this id in your organization."
        )
    return delivery


def _receiver(service: Service, delivery: DeliveryRow) -> str:
    if delivery.endpoint is None:
        return delivery.url
    endpoint = endpoints.find(service.db, delivery.endpoint)
    if endpoint is None or endpoint.state != "enabled":
        raise RequestError(
            409, "Its endpoint is no longer enabled: nothing can be sent to it."
        )
    return endpoint.url


def _page(request: Request) -> Page:
    for name in PARAMETERS:
        if len(request.query_params.getlist(name)) > 1:
            raise RequestError(422, f"{name}: it is given more than once.")
    limit = _text(request, "limit")
    cursor = _text(request, "cursor")
    return Page(
        endpoint=_text(request, "endpoint_id"),
        status=_one_of(request, "status", deliveries.STATUSES),
        job=_text(request, "source_id"),
        before_seq=None if cursor is None else _seq(cursor),
        limit=DEFAULT_LIMIT if limit is None else _limit(limit),
    )


def _text(request: Request, name: str) -> str | None:
    text = request.query_params.get(name)
    if text == "":
        raise refused(name, text, "a text, or leave it out")
    return text


def _one_of(request: Request, name: str, words: Collection[str]) -> str | None:
    text = _text(request, name)
    if text is not None and text not in words:
        raise refused(name, text, f"one of {', '.join(words)}")
    return text


def _limit(text: str) -> int:
    digits = text.isascii() and text.isdigit() and len(text) <= len(str(MAX_LIMIT))
    if not digits or not 1 <= int(text) <= MAX_LIMIT:
        raise refused("limit", text, f"a whole number from 1 to {MAX_LIMIT}")
    return int(text)


def _cursor(seq: int) -> str:
    return f"before-{seq}"


def _seq(cursor: str) -> int:
    if _CURSOR.fullmatch(cursor) is None:
        raise refused("cursor", cursor, "a next_cursor of an earlier response")
    return int(cursor.removeprefix("before-"))
