"""No float touches money: the dtypes of every frame, and the source itself."""

from __future__ import annotations

import ast
import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import mediakit
from mediakit.history import History
from tests.spend.books import SERVICE, Books, charged, spend_of
from tests.support.frames import types
from tests.support.submissions import completed, submission

# Copied by hand from the descriptions of the frames.
DAILY = {
    "day": "datetime64[us]",
    "api_key_id": "str",
    "model": "str",
    "function": "str",
    "jobs": "Int64",
    "charge_micro_usd": "int64",
    "charge_usd": "float64",
    "model_id": "str",
    "kind": "str",
    "complete": "bool",
}
SUMMED = {
    "jobs": "Int64",
    "charge_micro_usd": "int64",
    "charge_usd": "float64",
    "complete": "bool",
}
DAY = {"day": "datetime64[us]"}
MONTHLY = {
    "month": "str",
    "model_id": "str",
    "model": "str",
    "function": "str",
    "jobs": "Int64",
    "charge_micro_usd": "int64",
    "charge_usd": "float64",
    "credits_applied_micro_usd": "int64",
}
EXPECTED: dict[str, dict[str, str]] = {
    "daily": DAILY,
    "by function": DAY | {"function": "str", "kind": "str"} | SUMMED,
    "by key": DAY | {"api_key_id": "str"} | SUMMED,
    "by model": DAY | {"model": "str"} | SUMMED,
    "by project": DAY | {"project": "str"} | SUMMED,
    "by nothing": DAY | SUMMED,
    "monthly": MONTHLY | {"kind": "str"},
    "csv": {name: kind for name, kind in MONTHLY.items() if name != "month"},
}
ROWS = [charged("2026-10-05", 7), charged("2026-10-06", 8, key="key_2")]
RANGE = ("2026-10-01", "2026-10-31")


async def frames_of(spend: Any, month: str) -> dict[str, pd.DataFrame]:
    days = (f"{month}-01", f"{month}-28")
    by = {
        f"by {name}": await spend.daily(*days, by=name)
        for name in ("function", "key", "model", "project")
    }
    return by | {
        "daily": await spend.daily(*days),
        "by nothing": await spend.daily(*days, by=[]),
        "monthly": await spend.monthly(month),
        "csv": await spend.monthly_csv(month),
        "charges": await spend.charges(*days),
    }


@pytest.fixture(scope="module", params=["2026-10", "2026-02"], ids=["full", "empty"])
def frames(request: pytest.FixtureRequest) -> dict[str, pd.DataFrame]:
    with History("sqlite://") as history:
        key = "k1"
        history.claim(submission(key, service=SERVICE.identity, project="spring"))
        history.record_job(key, completed(7))
        with spend_of(Books(ROWS), history) as spend:
            return asyncio.run(frames_of(spend, request.param))


@pytest.mark.parametrize("name", EXPECTED)
def test_each_frame_has_the_documented_columns_and_dtypes(
    frames: dict[str, pd.DataFrame], name: str
) -> None:
    found = types(frames[name])
    expected = EXPECTED[name]
    if frames[name].empty and name == "daily":
        # A column that the service adds is there with its first row.
        expected = {n: kind for n, kind in expected.items() if n != "model_id"}
    assert list(found.items()) == list(expected.items())


def test_every_amount_in_every_frame_is_a_whole_number(
    frames: dict[str, pd.DataFrame],
) -> None:
    for name, frame in frames.items():
        money = [n for n in frame.columns if str(n).endswith("_micro_usd")]
        assert "charge_micro_usd" in money
        kinds = {str(frame[column].dtype) for column in money}
        assert kinds <= {"int64", "Int64"}, name
        dollars = frame["charge_micro_usd"] / 1_000_000
        assert frame["charge_usd"].tolist() == dollars.tolist(), name


# -- the source -------------------------------------------------------------------

SOURCE = Path(mediakit.__file__).parent
ROOMS = ("spend", "history", "client")


def text_of(node: ast.AST) -> str:
    """Return the name, attribute or text index that an expression ends with."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Subscript):
        return text_of(node.slice)
    return str(node.value) if isinstance(node, ast.Constant) else ""


def is_money(node: ast.AST) -> bool:
    return text_of(node).lower().endswith("micro_usd")


def is_float(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, float)


def floats_on_money(tree: ast.AST) -> Iterator[int]:
    """Give the lines in which a float is made of an amount."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and text_of(node.func) == "float":
            if any(is_money(each) for each in node.args):
                yield node.lineno
        elif isinstance(node, ast.BinOp | ast.AugAssign):
            sides = (
                (node.left, node.right)
                if isinstance(node, ast.BinOp)
                else (node.target, node.value)
            )
            divides = isinstance(node.op, ast.Div)
            if any(map(is_money, sides)) and (divides or any(map(is_float, sides))):
                yield node.lineno


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("float(charge_micro_usd)", True),
        ("float(row['charge_micro_usd'])", True),
        ("entry.charge_micro_usd * 1.5", True),
        ("0.5 * frame['charge_micro_usd']", True),
        ("total_micro_usd / days", True),
        ("total_micro_usd /= 2", True),
        ("total_micro_usd // days", False),
        ("total_micro_usd * 2", False),
        ("Path(folder) / name", False),
        ("float(seconds) / 2", False),
    ],
)
def test_the_search_for_floats_finds_what_it_is_for(code: str, found: bool) -> None:  # noqa: FBT001
    assert bool(list(floats_on_money(ast.parse(code)))) is found


def test_no_amount_becomes_a_float_in_spend_history_and_client() -> None:
    files = [file for room in ROOMS for file in (SOURCE / room).rglob("*.py")]
    assert len(files) > len(ROOMS)
    texts = {file.relative_to(SOURCE): file.read_text("utf-8") for file in files}
    found = {
        f"{name}:{line}"
        for name, text in texts.items()
        if "micro_usd" in text.lower()  # parsing the others would find nothing
        for line in floats_on_money(ast.parse(text))
    }
    assert found == set()
