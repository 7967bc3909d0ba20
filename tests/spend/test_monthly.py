"""Months, and the CSV as it was sent."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from mediakit.client import Service
from mediakit.errors import AuthError, IncompleteDataWarning, InputError
from mediakit.history import History
from tests.spend.books import NOW, Books, charged, spend_of
from tests.support.clients import async_client
from tests.support.servers.scripted_server import (
    ScriptedServer,
    answers,
    json_page,
    page,
)

ROWS = [
    charged("2026-09-30", 1),
    charged("2026-10-01", 2),
    charged("2026-10-31", 4, "other/model/f"),
    charged("2026-11-01", 8),
]


def read(books: Any, name: str, *args: Any, now: Any = NOW, **options: Any) -> Any:
    with spend_of(books, now=now) as spend:
        return asyncio.run(getattr(spend, name)(*args, **options))


@pytest.mark.spec("4.19")
def test_one_month_has_its_report_around_the_rows() -> None:
    frame = read(Books(ROWS), "monthly", "2026-10")
    assert frame["month"].tolist() == ["2026-10", "2026-10"]
    assert frame["charge_micro_usd"].tolist() == [2, 4]
    assert frame["kind"].isna().tolist() == [False, True]
    assert frame.attrs["total_micro_usd"] == 6
    assert frame.attrs["report"]["invoices"] == []


@pytest.mark.parametrize("name", ["monthly", "monthly_csv"])
def test_a_month_in_the_future_is_refused_by_the_services_clock(name: str) -> None:
    with pytest.raises(InputError, match=r"month must be .*current month, 2026-11"):
        read(Books(), name, "2026-12", now=NOW + timedelta(days=90))
    with pytest.raises(InputError, match=r"month must be"):
        read(Books(now=None), name, "2026-12")


@pytest.mark.parametrize(
    "month",
    [
        *("2026-1", "2026-13", "2026-00", "0000-01", "2026-10-01", "10-2026", ""),
        *(202610, ("2026-10", "2026-11")),
    ],
)
def test_an_invalid_month_is_rejected_before_anything_is_sent(month: Any) -> None:
    with pytest.raises(InputError) as caught:
        read(Books(), "monthly", month)
    assert caught.value.field == "month"
    assert "sent" not in str(caught.value)


# -- the service's own bytes ------------------------------------------------------

CSV = '\ufeffmodel_id,é,charge_micro_usd\r\n"a\nb",;,5\n'.encode() + b"\xff,,6\r\n"


def over_http(script: bytes, name: str, *args: Any) -> Any:
    async def main(base_url: str) -> Any:
        service = Service(base_url, "key")
        async with async_client(service, history=History("sqlite://")) as client:
            with spend_of(client.components.billing) as spend:
                return await getattr(spend, name)(*args)

    with ScriptedServer(answers(script, script, script)) as server:
        return asyncio.run(main(server.base_url))


def test_the_bytes_of_the_csv_are_those_that_were_sent(tmp_path: Path) -> None:
    path = over_http(page(CSV), "to_csv", "2026-10", tmp_path / "october.csv")
    assert path == tmp_path / "october.csv"
    assert path.read_bytes() == CSV
    assert list(tmp_path.iterdir()) == [path]


def test_a_name_that_is_no_utf_8_hides_no_amount() -> None:
    with pytest.warns(IncompleteDataWarning, match="no row that is the sum"):
        frame = over_http(page(CSV), "monthly_csv", "2026-10")
    assert frame["charge_micro_usd"].tolist() == [5, 6]


def test_a_file_that_cannot_be_written_is_a_sentence_and_leaves_nothing(
    tmp_path: Path,
) -> None:
    for place in (tmp_path / "none" / "october.csv", tmp_path):
        with pytest.raises(
            InputError, match=r"^path must be .*a file that can be written"
        ):
            read(Books(ROWS), "to_csv", "2026-10", place)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("daily", ("2026-01-01", "2026-10-31")),
        ("monthly", ("2026-10",)),
        ("monthly_csv", ("2026-10",)),
    ],
)
def test_a_role_that_may_not_read_gets_an_error_that_says_so(
    name: str, args: Any
) -> None:
    refusal = {"message": "Members may not read billing."}
    script = json_page(refusal, status="403 Forbidden")
    with pytest.raises(
        AuthError, match=r"not allowed to access the .* Members may not read"
    ):
        over_http(script, name, *args)
