"""Months written by hand, in five shapes of reports: verdicts and sentences."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.spend.bills import PATHS, Job, compared_reports, entry, unread
from tests.support.rows import assert_each

TABLE = Path(__file__).with_name("reconciled_months.toml")
MONTHS: list[dict[str, Any]] = tomllib.loads(
    TABLE.read_text("utf-8"), parse_float=Decimal
)["month"]
FUNCTIONS = dict(zip(("r1", "image", "upscale"), PATHS, strict=True))
FIRST = datetime(2026, 10, 1, 12, tzinfo=UTC)
Body = dict[str, Any]
Row = tuple[str, str, str, int]
"""Function, API key, day and micro-USD; a monthly report has neither key nor day."""


def micro_usd(amount: Any) -> int:
    return int(Decimal(amount) * 1_000_000)


def instant(text: Any) -> datetime:
    if isinstance(text, str):
        return datetime.fromisoformat(f"2026-{text}+00:00")
    return FIRST + timedelta(days=text - 1)


def history_row(number: int, job: dict[str, Any]) -> dict[str, Any]:
    """Return the history's row of a job of the table."""
    at = instant(job["day"])
    made = Job(
        id=job.get("id", f"media_{number}"),
        path=FUNCTIONS.get(job["f"], PATH_OF_NONE),
        micro_usd=micro_usd(job.get("usd", job.get("high", 0))),
        settled_at=at,
        read_at=instant(job["read"]) if "read" in job else None,
        restated_micro_usd=micro_usd(job["restated"]) if "restated" in job else None,
    )
    changes: dict[str, Any] = {}
    if job["f"] not in FUNCTIONS:
        changes["function"] = job["f"]
    if job.get("is_restored"):
        changes |= {"submitted_at": None, "finished_at": None}
    if "usd" in job:
        return entry(made, **changes)
    if job.get("is_failed"):
        changes["status"] = "failed"
    elif "high" not in job:
        changes["estimate_kind"] = "nominal"
    return unread(made, **changes)


PATH_OF_NONE = FUNCTIONS["r1"]


# -- shapes of reports -----------------------------------------------------------------


def record(**values: Any) -> Body:
    """Return a row without the key and the day that a monthly report does not have."""
    return {name: value for name, value in values.items() if value != ""}


def totalled(body: Body, total: int | None) -> Body:
    return body if total is None else body | {"total_micro_usd": total}


def flat(rows: Sequence[Row], total: int | None) -> Body:
    """Rows with model and function apart, and the total beside them."""
    records = []
    for path, key, day, charge in rows:
        model, _, function = path.rpartition("/")
        names = {"model": model, "function": function} if model else {"model": path}
        amounts = {"jobs": 1, "charge_micro_usd": charge}
        records.append(record(date=day, api_key_id=key, **names, **amounts))
    return totalled({"rows": records}, total)


def by_model(rows: Sequence[Row], total: int | None) -> Body:
    """Rows that name vendor and model, and no function; a summary beside them."""
    records = [
        record(
            day=day,
            key_id=key,
            model=path.rpartition("/")[0] or path,
            charge_micro_usd=charge,
        )
        for path, key, day, charge in rows
    ]
    summary = {"total_charge_micro_usd": sum(charge for *_, charge in rows)}
    return totalled({"data": records, "summary": summary}, total)


def by_name(rows: Sequence[Row], total: int | None) -> Body:
    """Rows that name the model alone, with times and objects, and a row of totals."""
    whole = sum(charge for *_, charge in rows) if total is None else total
    records = [
        record(
            date=day and f"{day}T00:00:00Z",
            api_key=key and {"id": key, "name": "ours"},
            model=path.split("/")[1] if "/" in path else path,
            charge_micro_usd=charge,
        )
        for path, key, day, charge in rows
    ]
    totals = {"model": "Total", "charge_micro_usd": whole}
    return {"items": [*records, totals] if rows else []}


def nested(rows: Sequence[Row], total: int | None) -> Body:
    """Days with keys, and keys with models; a sum stands on each level."""
    days: list[Body] = []
    for day in dict.fromkeys(day for _, _, day, _ in rows):
        keys: list[Body] = []
        for key in dict.fromkeys(k for _, k, d, _ in rows if d == day):
            mine = [(p, charge) for p, k, d, charge in rows if (d, k) == (day, key)]
            models = [{"model_id": path, "charge_micro_usd": c} for path, c in mine]
            whole = sum(charge for _, charge in mine)
            its = record(api_key_id=key, charge_micro_usd=whole)
            keys.append(its | {"models": models})
        days.append(record(date=day) | {"keys": keys})
    return totalled({"days": days}, total)


def enveloped(rows: Sequence[Row], total: int | None) -> Body:
    """Amounts as texts, paths, columns that are not ours, and two envelopes."""
    records = [
        record(
            note="kept",
            model=path,
            api_key_id=key,
            date=day,
            charge_micro_usd=str(charge),
            usage={"seconds": 5},
        )
        for path, key, day, charge in rows
    ]
    return {"result": totalled({"records": records}, total)}


SHAPES: dict[str, Callable[[Sequence[Row], int | None], Body]] = {
    "flat": flat,
    "by model": by_model,
    "by name": by_name,
    "nested": nested,
    "enveloped": enveloped,
}


# -- the months ------------------------------------------------------------------------


def path(name: str) -> str:
    return FUNCTIONS.get(name, name)


def shaped(month: dict[str, Any], shape: str) -> tuple[Body, Body]:
    """Return the two reports of a month in a shape."""
    make = SHAPES[shape]
    daily = [
        (path(name), key, f"2026-10-{day:02}", micro_usd(usd))
        for name, key, day, usd in month["daily"]
    ]
    monthly = [(path(name), "", "", micro_usd(usd)) for name, usd in month["monthly"]]
    total = micro_usd(month["total"]) if "total" in month else None
    bodies = {"daily": make(daily, None), "monthly": make(monthly, total)}
    if "unread" in month:
        bodies[month["unread"]] = {"days": "none"}
    return bodies["daily"], bodies["monthly"]


def rows_of(frame: Any) -> list[list[Any]]:
    """Return the rows of a result as the table has them, in micro-USD."""
    names = {each: short for short, each in FUNCTIONS.items()}
    columns = ["history_micro_usd", "daily_micro_usd", "monthly_micro_usd"]
    plain = frame.astype("object").where(frame.notna(), "-")
    return sorted(
        [names.get(row["function"], row["function"]), row["api_key_id"], row["verdict"]]
        + [row[column] for column in columns]
        for row in plain.to_dict("records")
    )


def amounts_of(text: str) -> list[int]:
    return [
        micro_usd(amount.replace("$", "").replace(",", ""))
        for amount in re.findall(r"-?\$[\d,]+(?:\.\d+)?", text)
    ]


def check(month: dict[str, Any], shape: str) -> None:
    rows = [history_row(number, job) for number, job in enumerate(month["history"])]
    own_keys = tuple(month.get("own_keys", ["key_1"])) or None
    result = compared_reports(*shaped(month, shape), rows, own_keys)
    expected = [
        [*row[:3], *(each if each == "-" else micro_usd(each) for each in row[3:])]
        for row in month["rows"]
    ]
    frame = result.frame()
    assert rows_of(frame) == sorted(expected)
    assert amounts_of(result.text) == [*map(micro_usd, month["amounts"])]
    assert result.is_explained is month["is_explained"]
    difference = int(frame["difference_micro_usd"].sum())
    assert result.history_micro_usd + difference == result.charged_micro_usd


@pytest.mark.spec("4.19")
@pytest.mark.parametrize("shape", SHAPES)
def test_each_month_has_the_handwritten_verdicts_and_amounts(
    shape: str,
) -> None:
    assert len(MONTHS) >= 30
    by_name = {month["name"]: month for month in MONTHS}
    assert_each(by_name, lambda name: check(by_name[name], shape))


def test_the_sentence_names_functions_keys_and_jobs_and_what_to_do() -> None:
    by_name = {month["name"]: month for month in MONTHS}

    def text(name: str) -> str:
        month = by_name[name]
        rows = [history_row(number, job) for number, job in enumerate(month["history"])]
        own_keys = tuple(month.get("own_keys", ["key_1"])) or None
        return compared_reports(*shaped(month, "flat"), rows, own_keys).text

    assert text("both sides agree") == (
        "$3.50 charged in October 2026; all of it is explained."
    )
    assert text("one job was lost") == (
        "$3.50 charged in October 2026: $0.50 is in this history; $3.00 for r1 against "
        "$2.00 in this history ($1.00 is missing here; client.history.rebuild(...) can "
        "restore it)."
    )
    assert "key_1, key_2 was charged; name your own keys with own_keys=[...]" in text(
        "colleagues, and no key is named"
    )
    assert "other API keys (key_2, key_3)" in text("colleagues")
    assert text("a charge is not read yet").endswith(
        "or that were restored without a date: media_1)."
    )


def test_functions_with_the_same_verdict_share_a_sentence() -> None:
    paths = [f"acme/model-{number}/function" for number in range(5)]
    rows = [(each, "key_1", "2026-10-05", 1_000_000) for each in paths]
    result = compared_reports(flat(rows, None), flat(rows, None), [], ("key_1",))
    assert "$5.00 for 5 functions against $0.00 in this history" in result.text
    assert len(result.frame()) == 5
