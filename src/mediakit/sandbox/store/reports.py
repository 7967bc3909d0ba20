"""Charges, credits and top-ups by day in UTC (spec 4.19)."""

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import groupby

from mediakit.sandbox.store.database import Database

US_PER_DAY = 86_400_000_000
_EPOCH_DAY = date(1970, 1, 1)


@dataclass(frozen=True)
class DailyRow:
    """The settled charges of one day, key and function."""

    day: date
    api_key: str
    function: str
    jobs: int
    charge_micro_usd: int


@dataclass(frozen=True)
class MonthlyRow:
    """The settled charges of one function in one month."""

    function: str
    jobs: int
    usage: Mapping[str, int | float] | None
    charge_micro_usd: int
    credit_micro_usd: int


@dataclass(frozen=True)
class Movements:
    """The changes of a balance in a period of days, micro-USD.

    Args:
        opening_micro_usd: The balance before the first day.
        credits_granted_micro_usd: The added credits.
        top_ups_micro_usd: The added funds.
        closing_micro_usd: The balance after the last day.
    """

    opening_micro_usd: int
    credits_granted_micro_usd: int
    top_ups_micro_usd: int
    closing_micro_usd: int


def daily(
    db: Database,
    org: str,
    first: date,
    last: date,
    *,
    api_key: str | None = None,
    model: str | None = None,
) -> list[DailyRow]:
    """Sum the settled charges of completed jobs by day, key and function.

    Args:
        db: The database.
        org: The organization.
        first: The first day, in UTC.
        last: The last day, included.
        api_key: Only the jobs of the key with this id.
        model: Only this `vendor/model` or `vendor/model/function`.
    """
    rows = db.rows(
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
        DailyRow(
            _EPOCH_DAY + timedelta(days=row["day"]),
            row["api_key"],
            row["function"],
            row["jobs"],
            row["charge"],
        )
        for row in rows
        if api_key in (None, row["api_key"])
        and model in (None, row["function"], model_of(row["function"]))
    ]


def monthly(db: Database, org: str, first: date, last: date) -> list[MonthlyRow]:
    """Sum the settled charges and the usage of completed jobs by function."""
    rows = db.rows(
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


def _monthly_row(function: str, entries: list[sqlite3.Row]) -> MonthlyRow:
    return MonthlyRow(
        function,
        len(entries),
        _sum_usage([row["usage"] for row in entries]),
        sum(row["charge"] for row in entries),
        sum(row["credit"] for row in entries),
    )


def movements(db: Database, org: str, first: date, last: date) -> Movements:
    """Sum the ledger of an organization before, during and after a period of days."""
    start_us, end_us = _start_us(first), _start_us(last) + US_PER_DAY
    row = db.row(
        "WITH line AS (SELECT *, at_us >= ? AS now, kind <> 'charge' AS is_income"
        " FROM ledger WHERE org = ? AND at_us < ?)"
        " SELECT sum(amount_micro_usd * (NOT now)) AS opening,"
        " sum(credit_micro_usd * now * is_income) AS credits,"
        " sum((amount_micro_usd - credit_micro_usd) * now * is_income) AS top_ups,"
        " sum(amount_micro_usd) AS closing FROM line",
        start_us,
        org,
        end_us,
    )
    if row is None:
        raise LookupError(f"no sum of the ledger of {org}")
    # A sum of no rows is null.
    return Movements(*(amount or 0 for amount in row))


def model_of(function: str) -> str:
    """Return `vendor/model` of a path `vendor/model/function`."""
    return function.rsplit("/", 1)[0]


def _sum_usage(usages: list[str | None]) -> dict[str, int | float] | None:
    total: dict[str, int | float] = {}
    for text in usages:
        for unit, quantity in json.loads(text or "{}").items():
            total[unit] = total.get(unit, 0) + quantity
    return total or None


def _start_us(day: date) -> int:
    return (day - _EPOCH_DAY).days * US_PER_DAY
