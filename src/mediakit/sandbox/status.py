"""The sandbox's own pages: for people at `/`, for programs at `/sandbox/status`."""

from html import escape

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from mediakit.money import format_usd
from mediakit.sandbox.answers import RequestError
from mediakit.sandbox.clock import to_instant
from mediakit.sandbox.service import Service, service_of
from mediakit.sandbox.settings import is_loopback
from mediakit.sandbox.store import jobs
from mediakit.sandbox.store.accounts import DEFAULT_ORG
from mediakit.sandbox.store.jobs import JobRow
from mediakit.sandbox.store.money import balance_micro_usd

SHOWN_JOBS = 20
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>mediakit sandbox</title>
<meta name="viewport" content="width=device-width">
<style>
:root {{ color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }}
body {{ max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }}
table {{ border-collapse: collapse; width: 100%; }}
th, td {{ text-align: left; padding: .3rem .8rem .3rem 0; }}
th {{ font-weight: 600; border-bottom: 1px solid; }}
td:last-child, th:last-child {{ text-align: right; }}
code {{ font-size: .9em; }}
</style></head><body>
<h1>mediakit sandbox</h1>
<p>A media service on this machine; what it charges is not real money.
It serves <a href="/openapi.json">this interface</a> at <code>{base_url}</code>.</p>
<p>Balance <strong>{balance}</strong>; {running} running, {queued} queued.</p>
<table><thead><tr><th>Job</th><th>Function</th><th>Status</th><th>Sent (UTC)</th>
<th>Charge</th></tr></thead><tbody>{rows}</tbody></table>
</body></html>
"""


async def page(request: Request) -> Response:
    """Answer GET / with a small page; it shows no prompt and no key."""
    service = service_of(request)
    _own_name_only(service, request)
    latest = jobs.latest(service.db, DEFAULT_ORG, SHOWN_JOBS)
    rows = "".join(_row(job) for job in latest)
    running, queued = _in_flight(service)
    html = PAGE.format(
        base_url=escape(service.base_url),
        balance=format_usd(balance_micro_usd(service.db, DEFAULT_ORG)),
        running=running,
        queued=queued,
        rows=rows or '<tr><td colspan="5">No jobs yet.</td></tr>',
    )
    return HTMLResponse(html, headers={"Cache-Control": "no-store"})


async def status(request: Request) -> Response:
    """Answer GET /sandbox/status: who this is and how it goes, without secrets."""
    service = service_of(request)
    _own_name_only(service, request)
    running, queued = _in_flight(service)
    settings = service.settings
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
        }
    )


def _own_name_only(service: Service, request: Request) -> None:
    # A web page whose host name was made to lead to this machine must not read on.
    host = request.url.hostname or ""
    if is_loopback(service.settings.host) and not is_loopback(host):
        raise RequestError(403, "This page is for the machine it runs on.")


def _in_flight(service: Service) -> tuple[int, int]:
    row = service.db.row(
        "SELECT running_n, queued_n FROM org WHERE id = ?", DEFAULT_ORG
    )
    return (0, 0) if row is None else (row["running_n"], row["queued_n"])


def _row(job: JobRow) -> str:
    state = "erased" if job.deleted_us is not None else job.status
    if job.error_code:
        state = f"{state}: {job.error_code}"
    settled = job.charge_micro_usd if job.billing_state == "settled" else None
    sent = to_instant(job.created_us).strftime("%Y-%m-%d %H:%M:%S")
    charge = "" if settled is None else format_usd(settled)
    cells = (f"<code>{escape(job.id)}</code>", job.function, state, sent, charge)
    first, *rest = cells
    others = "".join(f"<td>{escape(cell)}</td>" for cell in rest)
    return f"<tr><td>{first}</td>{others}</tr>"
