"""The hand-copied tables of the interface specification, as test data."""

import json
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tests.spec.compose_rows import BODIES

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Case:
    """One row of a table: a body, and the field that its refusal must name."""

    kind: str
    body: dict[str, Any]
    field: str | None = None

    def __str__(self) -> str:
        return f"{self.kind}-{self.field or 'ok'}-{json.dumps(self.body)[:60]}"


@cache
def tables() -> list[dict[str, Any]]:
    """Return every table, by file name."""
    return [tomllib.loads(f.read_text("utf-8")) for f in sorted(FOLDER.glob("*.toml"))]


def accepted(of: str | None = None) -> list[Case]:
    """Return every body, of one kind or of all, that must be accepted."""
    cases = []
    for kind, table in _chosen(of):
        cases += [Case(kind, _body(row)) for row in table["accepted"]]
        cases += [Case(kind, body) for body, _ in _at_the_bounds(table, extra=0)]
    return cases


def refused(of: str | None = None) -> list[Case]:
    """Return every body that must be refused, and the field to be named."""
    cases = []
    for kind, table in _chosen(of):
        cases += [Case(kind, _body(row), name) for name, row in table["refused"]]
        cases += [Case(kind, b, name) for b, name in _at_the_bounds(table, extra=1)]
    return cases


def _chosen(of: str | None) -> Iterator[tuple[str, dict[str, Any]]]:
    for table in tables():
        if of in (None, table["kind"]):
            yield table["kind"], table


def _at_the_bounds(
    table: dict[str, Any], *, extra: int
) -> list[tuple[dict[str, Any], str]]:
    base = json.loads(table.get("longest_with", table["accepted"][0]))
    rows = []
    for name, length in table.get("longest", {}).items():
        rows.append(({**base, name: "a" * (length + extra)}, name))
    for name, count in table.get("most", {}).items():
        rows.append(({**base, name: ["https://a.test/1"] * (count + extra)}, name))
    return rows


def prices(of: str | None = None) -> list[dict[str, Any]]:
    """Return every price row: function, body, kind, low, high and known seconds.

    `low` and `high` are micro-USD, None where there is no rate or no bound.
    """
    return [_price(kind, row) for kind, table in _chosen(of) for row in table["price"]]


def _price(kind: str, row: dict[str, Any]) -> dict[str, Any]:
    unknown = row["kind"] == "unknown"
    high = None if unknown or row.get("unbounded", False) else row["micro_usd"]
    return {
        "function": kind,
        "body": _body(row["body"]),
        "kind": row["kind"],
        "low": row.get("low_micro_usd", high),
        "high": high,
        "seconds": row.get("seconds", {}),
    }


def _body(row: str) -> dict[str, Any]:
    """Read a row's JSON, or look up the body that it names."""
    body: dict[str, Any] = json.loads(row) if row.startswith("{") else BODIES[row]
    return body
