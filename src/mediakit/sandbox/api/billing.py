"""Balance, daily spend, monthly report and CSV (spec 4.19)."""

import csv
from calendar import monthrange
from collections.abc import Iterable, Mapping
from datetime import date
from io import StringIO
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from mediakit.clock import to_instant
from mediakit.sandbox.clock import iso
from mediakit.sandbox.http import (
    WireResponse,
    invalid_field_error,
    read_query,
    validated,
)
from mediakit.sandbox.service import caller_of, service_of
from mediakit.sandbox.store import money
from mediakit.sandbox.store.admission import left_micro_usd
from mediakit.sandbox.store.orgs import find_org
from mediakit.sandbox.wire import (
    BalanceBody,
    DailyQuery,
    DailySpend,
    MonthlyReport,
    MonthPath,
)

CSV_COLUMNS = (
    "model_id",
    "model",
    "function",
    "jobs",
    "charge_micro_usd",
    "credits_applied_micro_usd",
)


async def read_balance(request: Request) -> Response:
    """Read the spending capacity."""
    service, caller = service_of(request), caller_of(request)
    org = find_org(service.db, caller.org)
    fields: dict[str, Any] = {"balance_micro_usd": org["balance_micro_usd"]}
    if org["mode"] == "postpaid":
        now_us = service.clock.now_us()
        start_us, end_us = money.cycle_at(now_us)
        # The amount is before holds, like the balance; a lowered limit does not make it
        # negative.
        remaining = left_micro_usd(service.db, org, now_us) + org["held_micro_usd"]
        cycle = {
            "remaining_micro_usd": max(0, remaining),
            "limit_micro_usd": org["cycle_limit_micro_usd"],
            "start": iso(start_us),
            "end": iso(end_us),
        }
        fields["postpaid"] = {"cycle": cycle}
    return WireResponse(BalanceBody(**fields))


async def read_daily_spend(request: Request) -> Response:
    """Read the daily spend."""
    service, caller = service_of(request), caller_of(request)
    query = read_query(request, DailyQuery)
    first, last = query.start_date, query.end_date
    if last < first:
        raise invalid_field_error(
            "end_date", str(last), f"a day from start_date, {first}, on"
        )
    rows = money.daily(
        service.db, caller.org, first, last, api_key=query.api_key_id, model=query.model
    )
    return WireResponse(
        DailySpend.model_validate(
            {
                "start_date": first,
                "end_date": last,
                "rows": rows,
                "total_micro_usd": _total(rows, "charge_micro_usd"),
            }
        )
    )


async def read_month(request: Request) -> Response:
    """Read the usage report of a month."""
    service, caller = service_of(request), caller_of(request)
    first, last = _month(request)
    rows = money.monthly(service.db, caller.org, first, last)
    total = _total(rows, "charge_micro_usd")
    fields: dict[str, Any] = {
        "month": str(first)[:7],
        "rows": rows,
        "total_micro_usd": total,
        "credits_applied_micro_usd": _total(rows, "credits_applied_micro_usd"),
        "invoices": [],
    }
    if total and find_org(service.db, caller.org)["mode"] == "postpaid":
        is_over = to_instant(service.clock.now_us()).date() > last
        invoice = {
            "id": f"invoice_{str(last)[:7]}",
            "status": "issued" if is_over else "open",
            "amount_micro_usd": total,
        }
        fields["invoices"] = [invoice]
    if caller.manages:  # other members do not see balances and grants (spec 4.19)
        fields |= money.movements(service.db, caller.org, first, last)
    return WireResponse(MonthlyReport(**fields))


async def read_month_csv(request: Request) -> Response:
    """Read a month as CSV: a row for each model and a totals row."""
    service, caller = service_of(request), caller_of(request)
    first, last = _month(request)
    rows = money.monthly(service.db, caller.org, first, last)
    name = f"usage-{str(first)[:7]}.csv"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(_csv(rows), media_type="text/csv", headers=headers)


def _month(request: Request) -> tuple[date, date]:
    first = validated(MonthPath, request.path_params).month
    return first, first.replace(day=monthrange(first.year, first.month)[1])


def _total(rows: Iterable[Mapping[str, Any]], name: str) -> int:
    return sum(row[name] for row in rows)


def _csv(rows: list[dict[str, Any]]) -> str:
    summed = ("jobs", "charge_micro_usd", "credits_applied_micro_usd")
    total = {"model_id": "total", **{name: _total(rows, name) for name in summed}}
    text = StringIO()
    writer = csv.DictWriter(text, CSV_COLUMNS, extrasaction="ignore")
    writer.writeheader()
    writer.writerows([*rows, total])
    return text.getvalue()
