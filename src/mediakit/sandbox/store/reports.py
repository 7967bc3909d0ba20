"""Charges, credits and top-ups by day in UTC (spec 4.19)."""

import json
from collections.abc import Iterable
from datetime import date, timedelta
from itertools import groupby
from sqlite3 import Row
from typing import Any

from mediakit.sandbox.store.database import Database

US_PER_DAY = 86_400_000_000
_EPOCH_DAY = date(1970, 1, 1)


def daily(
    db: Database,
    org: str,
    first: date,
    last: date,
    *,
    api_key: str | None = None,
    model: str | None = None,
) -> list[dict[str, Any]]:
    """Sum the settled charges of completed jobs by day, key and function."""
    rows = db.all(
        f"SELECT settled_us / {US_PER_DAY} AS day, api_key, function,"
        " count(*) AS jobs, sum(charge_micro_usd) AS charge FROM charge"
        " WHERE state = 'settled' AND completed = 1 AND org = ?"
        " AND settled_us >= ? AND settled_us < ?"
        " GROUP BY day, api_key, function ORDER BY day, api_key, function",
        org,
        _start_us(first),
        _start_us(last) + US_PER_DAY,
    )
    return [
        {
            "date": _EPOCH_DAY + timedelta(days=row["day"]),
            "api_key_id": row["api_key"],
            **_names(row["function"]),
            "jobs": row["jobs"],
            "charge_micro_usd": row["charge"],
        }
        for row in rows
        if api_key in (None, row["api_key"])
        and model in (None, row["function"], _names(row["function"])["model"])
    ]


def monthly(db: Database, org: str, first: date, last: date) -> list[dict[str, Any]]:
    """Sum the settled charges and the usage of completed jobs by function."""
    rows = db.all(
        "SELECT charge.function, charge.charge_micro_usd AS charge,"
        " charge.credit_micro_usd AS credit, job.usage"
        " FROM charge JOIN job ON job.id = charge.job"
        " WHERE charge.state = 'settled' AND charge.completed = 1 AND charge.org = ?"
        " AND charge.settled_us >= ? AND charge.settled_us < ?"
        " ORDER BY charge.function",
        org,
        _start_us(first),
        _start_us(last) + US_PER_DAY,
    )
    return [
        _monthly_row(function, list(entries))
        for function, entries in groupby(rows, key=lambda row: row["function"])
    ]


def _monthly_row(function: str, entries: list[Row]) -> dict[str, Any]:
    return {
        **_names(function),
        "jobs": len(entries),
        "usage": _sum_usage(row["usage"] for row in entries),
        "charge_micro_usd": sum(row["charge"] for row in entries),
        "credits_applied_micro_usd": sum(row["credit"] for row in entries),
    }


def movements(db: Database, org: str, first: date, last: date) -> dict[str, int]:
    """Sum the ledger of an organization before, during and after a period of days."""
    row = db.one(
        "WITH line AS (SELECT *, at_us >= ? AS now, kind <> 'charge' AS is_income"
        " FROM ledger WHERE org = ? AND at_us < ?) SELECT"
        " sum(amount_micro_usd * (NOT now)) AS opening_balance_micro_usd,"
        " sum(credit_micro_usd * now * is_income) AS credits_granted_micro_usd,"
        " sum((amount_micro_usd - credit_micro_usd) * now * is_income)"
        " AS top_ups_micro_usd,"
        " sum(amount_micro_usd) AS closing_balance_micro_usd FROM line",
        _start_us(first),
        org,
        _start_us(last) + US_PER_DAY,
    )
    # A sum of no rows is null.
    return {name: amount or 0 for name, amount in dict(row or ()).items()}


def _names(function: str) -> dict[str, str]:
    model, _, name = function.rpartition("/")
    return {"model": model, "function": name, "model_id": function}


def _sum_usage(usages: Iterable[str | None]) -> dict[str, int | float] | None:
    total: dict[str, int | float] = {}
    for text in usages:
        for unit, quantity in json.loads(text or "{}").items():
            total[unit] = total.get(unit, 0) + quantity
    return total or None


def _start_us(day: date) -> int:
    return (day - _EPOCH_DAY).days * US_PER_DAY
