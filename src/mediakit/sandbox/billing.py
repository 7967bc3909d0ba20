"""Balance, daily spend, monthly report and CSV (spec 4.19)."""

import csv
import re
from calendar import monthrange
from collections.abc import Iterable
from datetime import date
from io import StringIO
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from mediakit.errors import shown
from mediakit.sandbox.answers import RequestError
from mediakit.sandbox.service import caller_of, service_of
from mediakit.sandbox.store import reports
from mediakit.sandbox.store.money import balance_micro_usd
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
# What a spreadsheet would take for a formula.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


async def balance(request: Request) -> Response:
    """Answer GET /billing/balance."""
    caller = caller_of(request)
    amount = balance_micro_usd(service_of(request).db, caller.org)
    return JSONResponse({"balance_micro_usd": amount})


async def daily(request: Request) -> Response:
    """Answer GET /billing/spend/daily."""
    service, caller = service_of(request), caller_of(request)
    first, last = _day(request, "start_date"), _day(request, "end_date")
    if last < first:
        raise _refused("end_date", str(last), f"a day from start_date, {first}, on")
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
    """Answer GET /billing/monthly/{month}."""
    month, rows = _month_rows(request)
    return JSONResponse(
        {
            "month": month,
            "rows": [_monthly_object(row) for row in rows],
            "total_micro_usd": sum(row.charge_micro_usd for row in rows),
            # The sandbox's organization is prepaid and was granted no credits.
            "credits_applied_micro_usd": 0,
            "invoices": [],
        }
    )


async def monthly_csv(request: Request) -> Response:
    """Answer GET /billing/monthly/{month}/csv, a totals row at the end."""
    month, rows = _month_rows(request)
    headers = {"Content-Disposition": f'attachment; filename="usage-{month}.csv"'}
    return Response(_csv(rows), media_type="text/csv", headers=headers)


def _month_rows(request: Request) -> tuple[str, list[MonthlyRow]]:
    service, caller = service_of(request), caller_of(request)
    month = request.path_params["month"]
    first = _parsed_day(f"{month}-01") if _MONTH.fullmatch(month) else None
    if first is None:
        raise _refused("month", month, "a month as YYYY-MM")
    last = first.replace(day=monthrange(first.year, first.month)[1])
    return month, reports.monthly(service.db, caller.org, first, last)


def _day(request: Request, name: str) -> date:
    text = request.query_params.get(name)
    if text is None:
        raise RequestError(422, f"{name}: missing; it is required: YYYY-MM-DD.")
    day = _parsed_day(text) if _DATE.fullmatch(text) else None
    if day is None:
        raise _refused(name, text, "a day as YYYY-MM-DD")
    return day


def _parsed_day(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def _optional(request: Request, name: str) -> str | None:
    text = request.query_params.get(name)
    if text == "":
        raise _refused(name, text, "a text, or leave it out")
    return text


def _refused(field: str, got: object, accepted: str) -> RequestError:
    return RequestError(422, f"{field}: got {shown(got)}, accepted: {accepted}.")


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
        "credits_applied_micro_usd": 0,
    }


def _csv(rows: Iterable[MonthlyRow]) -> str:
    lines = [_monthly_object(row) for row in rows]
    total = {
        "model_id": "total",
        "jobs": sum(line["jobs"] for line in lines),
        "charge_micro_usd": sum(line["charge_micro_usd"] for line in lines),
        "credits_applied_micro_usd": 0,
    }
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
