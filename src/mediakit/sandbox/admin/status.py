"""The status of the sandbox: a page at `/`, and JSON at `/sandbox/status`."""

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from mediakit.sandbox.admin.access import own_name_only, owner_only
from mediakit.sandbox.admin.status_data import overview
from mediakit.sandbox.admin.status_page import page as written
from mediakit.sandbox.core.service import Service, service_of
from mediakit.sandbox.store.organizations.keys import DEFAULT_ORG

HEADERS = {
    "Cache-Control": "no-store",
    # Even if something is not escaped, no script runs.
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'",
    "X-Content-Type-Options": "nosniff",
}


async def page(request: Request) -> Response:
    """Handle GET / with a small page that shows no prompt and no secret."""
    service = service_of(request)
    owner_only(service, request)
    return HTMLResponse(written(overview(service)), headers=HEADERS)


async def status(request: Request) -> Response:
    """Handle GET /sandbox/status: the sandbox's identity and health, without secrets.

    The status is 503 while work fails and is retried.
    """
    service = service_of(request)
    own_name_only(service, request)
    running, queued = _in_flight(service)
    settings, problems = service.settings, service.health.problems()
    return JSONResponse(
        {
            "identity": service.identity,
            "now": service.clock.now().isoformat(),
            "speed": settings.speed,
            "concurrency": settings.concurrency,
            "queue_size": settings.queue_size,
            "allow_loopback_callbacks": settings.allow_loopback_callbacks,
            "running": running,
            "queued": queued,
            "functions": {f.kind: f.path for f in service.catalog},
            "problems": problems,
        },
        status_code=503 if problems else 200,
    )


def _in_flight(service: Service) -> tuple[int, int]:
    row = service.db.row(
        "SELECT running_n, queued_n FROM org WHERE id = ?", DEFAULT_ORG
    )
    return (0, 0) if row is None else (row["running_n"], row["queued_n"])
