"""Balance, daily spend, monthly report and CSV (spec 4.19)."""

import csv
import re
from calendar import monthrange
from collections.abc import Iterable
from datetime import date
from io import StringIO
from sqlite3 import Row
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from mediakit.sandbox.core.request_body import refused
from mediakit.sandbox.core.responses import RequestError
from mediakit.sandbox.core.service import Service, caller_of, service_of
from mediakit.sandbox.scheduling.clock import iso, to_instant
from mediakit.sandbox.store import reports
from mediakit.sandbox.store.holds_and_charges import cycle_at
from mediakit.sandbox.store.limits import left_micro_usd
from mediakit.sandbox.store.organizations.keys import Caller
from mediakit.sandbox.store.organizations.organization_records import find_org
from mediakit.sandbox.store.reports import DailyRow, MonthlyRow, model_of

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_MONTH = re.compile(r"\d{4}-\d{2}", re.ASCII)

CSV_COLUMNS = (
    "model_id",
    "model",
    "function",
    "jobs",
    "charge_micro_usd",
    "credits_applied_micro_usd",
)
# A spreadsheet reads a cell that starts with one of these as a formula.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


async def balance(request: Request) -> Response:
    """Handle GET /billing/balance."""
    service, caller = service_of(request), caller_of(request)
    org = find_org(service.db, caller.org)
    shown: dict[str, Any] = {"balance_micro_usd": org["balance_micro_usd"]}
    if org["mode"] == "postpaid":
        shown["postpaid"] = {"cycle": _cycle(service, org)}
    return JSONResponse(shown)


def _cycle(service: Service, org: Row) -> dict[str, Any]:
    now_us = service.clock.now_us()
    start_us, end_us = cycle_at(now_us)
    # Before holds, like the balance.
    remaining = left_micro_usd(service.db, org, now_us) + org["held_micro_usd"]
    return {
        # A lowered limit does not make it negative.
        "remaining_micro_usd": max(0, remaining),
        "limit_micro_usd": org["cycle_limit_micro_usd"],
        "start": iso(start_us),
        "end": iso(end_us),
    }


async def daily(request: Request) -> Response:
    """Handle GET /billing/spend/daily."""
    service, caller = service_of(request), caller_of(request)
    first, last = _day(request, "start_date"), _day(request, "end_date")
    if last < first:
        raise refused("end_date", str(last), f"a day from start_date, {first}, on")
    rows = reports.daily(
        service.db,
        caller.org,
        first,
        last,
        api_key=_optional(request, "api_key_id"),
        model=_optional(request, "model"),
    )
    return JSONResponse(
        {
            "start_date": str(first),
            "end_date": str(last),
            "rows": [_daily_object(row) for row in rows],
            "total_micro_usd": sum(row.charge_micro_usd for row in rows),
        }
    )


async def monthly(request: Request) -> Response:
    """Handle GET /billing/monthly/{month}."""
    service, caller = service_of(request), caller_of(request)
    first, last = _month(request)
    rows = reports.monthly(service.db, caller.org, first, last)
    total = sum(row.charge_micro_usd for row in rows)
    report: dict[str, Any] = {
        "month": str(first)[:7],
        "rows": [_monthly_object(row) for row in rows],
        "total_micro_usd": total,
        "credits_applied_micro_usd": sum(row.credit_micro_usd for row in rows),
        "invoices": _invoices(service, caller, last, total),
    }
    if caller.manages:
        report |= _movements(service, caller, first, last)
    return JSONResponse(report)


def _invoices(
    service: Service, caller: Caller, last: date, amount_micro_usd: int
) -> list[dict[str, Any]]:
    """Return the month's invoice, which only a postpaid organization gets."""
    org = find_org(service.db, caller.org)
    if org["mode"] != "postpaid" or not amount_micro_usd:
        return []
    is_over = to_instant(service.clock.now_us()).date() > last
    return [
        {
            "id": f"invoice_{str(last)[:7]}",
            "status": "issued" if is_over else "open",
            "amount_micro_usd": amount_micro_usd,
        }
    ]


def _movements(
    service: Service, caller: Caller, first: date, last: date
) -> dict[str, int]:
    """Return the fields that only owners and admins may see (spec 4.19)."""
    moved = reports.movements(service.db, caller.org, first, last)
    return {
        "opening_balance_micro_usd": moved.opening_micro_usd,
        "credits_granted_micro_usd": moved.credits_granted_micro_usd,
        "top_ups_micro_usd": moved.top_ups_micro_usd,
        "closing_balance_micro_usd": moved.closing_micro_usd,
    }


async def monthly_csv(request: Request) -> Response:
    """Handle GET /billing/monthly/{month}/csv, with a totals row at the end."""
    service, caller = service_of(request), caller_of(request)
    first, last = _month(request)
    rows = reports.monthly(service.db, caller.org, first, last)
    name = f"usage-{str(first)[:7]}.csv"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(_csv(rows), media_type="text/csv", headers=headers)


def _month(request: Request) -> tuple[date, date]:
    month = request.path_params["month"]
    first = _parsed_day(f"{month}-01") if _MONTH.fullmatch(month) else None
    if first is None:
        raise refused("month", month, "a month as YYYY-MM")
    return first, first.replace(day=monthrange(first.year, first.month)[1])


def _day(request: Request, name: str) -> date:
    text = _parameter(request, name)
    if text is None:
        raise RequestError(422, f"{name}: missing; it is required: YYYY-MM-DD.")
    day = _parsed_day(text) if _DATE.fullmatch(text) else None
    if day is None:
        raise refused(name, text, "a day as YYYY-MM-DD")
    return day


def _parsed_day(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def _optional(request: Request, name: str) -> str | None:
    text = _parameter(request, name)
    if text == "":
        raise refused(name, text, "a text, or leave it out")
    return text


def _parameter(request: Request, name: str) -> str | None:
    given = request.query_params.getlist(name)
    if len(given) > 1:
        raise refused(name, given, "one value")
    return given[0] if given else None


def _names(path: str) -> dict[str, str]:
    return {
        "model": model_of(path),
        "function": path.rsplit("/", 1)[1],
        "model_id": path,
    }


def _daily_object(row: DailyRow) -> dict[str, Any]:
    return {
        "date": str(row.day),
        "api_key_id": row.api_key,
        **_names(row.function),
        "jobs": row.jobs,
        "charge_micro_usd": row.charge_micro_usd,
    }


def _monthly_object(row: MonthlyRow) -> dict[str, Any]:
    return {
        **_names(row.function),
        "jobs": row.jobs,
        "usage": row.usage,
        "charge_micro_usd": row.charge_micro_usd,
        "credits_applied_micro_usd": row.credit_micro_usd,
    }


def _csv(rows: Iterable[MonthlyRow]) -> str:
    lines = [_monthly_object(row) for row in rows]
    summed = ("jobs", "charge_micro_usd", "credits_applied_micro_usd")
    total: dict[str, Any] = {"model_id": "total"}
    total |= {name: sum(line[name] for line in lines) for name in summed}
    text = StringIO()
    writer = csv.writer(text)
    writer.writerow(CSV_COLUMNS)
    for line in (*lines, total):
        writer.writerow([_cell(line.get(column, "")) for column in CSV_COLUMNS])
    return text.getvalue()


def _cell(value: object) -> object:
    if isinstance(value, str) and value.startswith(_FORMULA_STARTS):
        return f"'{value}"
    return value
