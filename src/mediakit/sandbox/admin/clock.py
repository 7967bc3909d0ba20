"""Reads the sandbox's clock and advances it."""

from datetime import datetime
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from mediakit.errors import shown
from mediakit.sandbox.core.request_body import read_object
from mediakit.sandbox.core.responses import RequestError
from mediakit.sandbox.core.service import Service, service_of
from mediakit.sandbox.core.timed_work import StalledError
from mediakit.sandbox.scheduling.clock import US_PER_S, iso, to_us

MAX_SKIP_S = 10 * 366 * 86_400


async def read_clock(request: Request) -> Response:
    """Handle GET /sandbox/clock: the time, its speed and its lead over real time."""
    service = service_of(request)
    return JSONResponse(
        {
            "now": iso(service.clock.now_us()),
            "speed": service.settings.speed,
            "ahead_s": service.clock.ahead_s(),
        }
    )


async def advance(request: Request) -> Response:
    """Handle POST /sandbox/clock/advance; respond once all due work is done."""
    service = service_of(request)
    asked = await read_object(request)
    unknown = [name for name in asked if name not in ("seconds", "to")]
    if unknown or len(asked) != 1:
        raise RequestError(
            422,
            f"body: got {shown(sorted(asked))}, accepted: either seconds or to.",
        )
    try:
        done = await _advance(service, asked)
    except StalledError:
        raise RequestError(
            503,
            "Due work was not done within a minute; the clock stopped at "
            f"{iso(service.clock.now_us())}.",
        ) from None
    finally:
        service.wake_all()
    return JSONResponse({"now": iso(service.clock.now_us())} | done)


async def _advance(service: Service, asked: dict[str, Any]) -> dict[str, int]:
    if "seconds" in asked:
        return await service.timekeeper.advance(_seconds(asked["seconds"]))
    return await service.timekeeper.advance_to(_target_us(service, asked["to"]))


def _seconds(value: object) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 <= float(str(value)) <= MAX_SKIP_S:
        accepted = f"sandbox seconds from 0 to {MAX_SKIP_S}; time only goes forwards"
        raise RequestError(422, f"seconds: got {shown(value)}, accepted: {accepted}.")
    return float(str(value))


def _target_us(service: Service, value: object) -> int:
    now_us = service.clock.now_us()
    try:
        target = datetime.fromisoformat(str(value))
    except ValueError:
        target = None
    if target is None or target.tzinfo is None:
        accepted = "an instant with its offset, such as 2026-01-02T03:04:05Z"
        raise RequestError(422, f"to: got {shown(value)}, accepted: {accepted}.")
    if not now_us <= to_us(target) <= now_us + MAX_SKIP_S * US_PER_S:
        raise RequestError(
            422,
            f"to: got {shown(value)}, accepted: from {iso(now_us)}, which is now, to "
            f"{MAX_SKIP_S} seconds later; time only goes forwards.",
        )
    return to_us(target)
