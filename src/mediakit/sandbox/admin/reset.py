"""Resets the sandbox: only its name, its key and its time stay."""

from contextlib import AsyncExitStack

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from mediakit.errors import shown
from mediakit.sandbox.core.request_body import read_object
from mediakit.sandbox.core.responses import RequestError
from mediakit.sandbox.core.service import Service, service_of
from mediakit.sandbox.core.timed_work import CLOCK_FACT
from mediakit.sandbox.scheduling.clock import iso
from mediakit.sandbox.store.reset import forget_everything


async def reset(request: Request) -> Response:
    """Handle POST /sandbox/reset; respond once everything is removed."""
    service = service_of(request)
    asked = await read_object(request)
    if list(asked) != ["confirm"] or asked["confirm"] is not True:
        raise RequestError(
            422,
            f"body: got {shown(asked)}, accepted: only confirm, set to true. "
            "Nothing was removed.",
        )
    async with AsyncExitStack() as stack:
        for pause in service.pauses:
            await stack.enter_async_context(pause())
        _start_over(service)
    service.wake_all()
    return JSONResponse({"now": iso(service.clock.now_us())})


def _start_over(service: Service) -> None:
    # No await from here on: no request sees a partial reset.
    with service.db.transaction():
        forget_everything(service.db, besides=CLOCK_FACT)
        service.open_accounts()
    service.faults.clear()
    service.files.remove_all()
