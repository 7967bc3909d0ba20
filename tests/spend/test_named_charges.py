"""Reports with a renamed charge column, as set in `mediakit.toml`."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import mediakit as mk
from tests.support.servers.billing_server import Bill, BillingServer, bill_row

FUNCTIONS = '[functions]\n"text-to-video" = "sandbox/text-to-video/text-to-video"\n'
# Their sum as floats is 1.0000010000000001.
CHARGES = (100_001, 200_000, 700_000)
Reports = Callable[[str, int], str]
Serve = Callable[..., AbstractContextManager[tuple[BillingServer, mk.Client]]]
TODAY = f"{datetime.now(UTC):%Y-%m-%d}"


def in_micro_usd(name: str, charge: int) -> str:
    return f'"{name}": {charge}'


def in_dollars(name: str, charge: int) -> str:
    return f'"{name}": {Decimal(charge) / 1_000_000}'


def in_dollars_as_text(name: str, charge: int) -> str:
    return f'"{name}": "{Decimal(charge) / 1_000_000}"'


def renamed(bill: Bill, name: str, spelling: Reports) -> Bill:
    """Return the bill with its charges under another name, in another unit."""

    def in_json(report: Any) -> Any:
        rows = []
        for row in report["rows"]:
            charge = json.loads("{" + spelling(name, row["charge_micro_usd"]) + "}")
            named = {k: v for k, v in row.items() if k != "charge_micro_usd"}
            rows.append(named | charge)
        return {"rows": rows}

    header, *rows = csv.reader(io.StringIO(bill.csv))
    charges = [json.loads("{" + spelling(name, int(row[-1])) + "}") for row in rows]
    lines = [",".join([*header[:-1], name])]
    for row, charge in zip(rows, charges, strict=True):
        lines.append(",".join([*row[:-1], str(charge[name])]))
    return Bill(in_json(bill.daily), in_json(bill.monthly), "\r\n".join(lines))


@pytest.fixture
def serve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Serve:
    """Serve a bill to a client whose `mediakit.toml` describes the reports."""

    @contextmanager
    def served(
        bill: Bill, reports: str = 'charge_usd = "spend"'
    ) -> Iterator[tuple[BillingServer, mk.Client]]:
        (tmp_path / "mediakit.toml").write_text(f"{FUNCTIONS}[reports]\n{reports}\n")
        monkeypatch.chdir(tmp_path)
        with (
            BillingServer(bill) as server,
            mk.Client(server.base_url, "a-key-for-this-test", home=tmp_path) as client,
        ):
            yield server, client

    return served


@pytest.mark.parametrize(
    ("table", "name", "spelling"),
    [
        ('charge = "spend_micro_usd"', "spend_micro_usd", in_micro_usd),
        ('charge_usd = "spend"', "spend", in_dollars),
        ('charge_usd = "cost (USD)"', "cost (USD)", in_dollars_as_text),
        ('charge = "amount"\ncharge_usd = "spend"', "spend", in_dollars),
    ],
)
def test_a_charge_by_another_name_is_read_in_each_report(
    serve: Serve, table: str, name: str, spelling: Reports, tmp_path: Path
) -> None:
    bill = renamed(Bill.of(*map(bill_row, CHARGES)), name, spelling)
    with serve(bill, table) as (server, client):
        for charge in CHARGES:
            server.next_charge_micro_usd = charge
            job = client.run("text-to-video", prompt=f"{charge}", duration=3)
            assert job.settle().charge_micro_usd == charge

        daily = client.spend.daily(TODAY)
        assert daily["charge_micro_usd"].tolist() == list(CHARGES)
        assert daily["charge_micro_usd"].dtype == "int64"
        for frame in (client.spend.monthly(), client.spend.monthly_csv()):
            assert frame["charge_micro_usd"].tolist() == [1_000_001]
        text = client.spend.reconcile().text
        assert "$1.000001 charged" in text
        assert "all of it is explained" in text
        sent = client.spend.to_csv(None, tmp_path / "month.csv").read_bytes()
        assert sent.decode() == bill.csv


def test_a_name_that_no_report_has_is_refused_with_the_columns_that_exist(
    serve: Serve,
) -> None:
    bill = renamed(Bill.of(bill_row(340_000)), "spend", in_dollars)
    with serve(bill, 'charge_usd = "spending"') as (_, client):
        for read in (
            lambda: client.spend.daily(TODAY),
            client.spend.monthly,
            client.spend.monthly_csv,
        ):
            with pytest.raises(mk.ServiceError) as error:
                read()
            assert "no column 'spending', which mediakit.toml" in str(error.value)
            assert "'model', 'function'" in str(error.value)
            assert "'spend'" in str(error.value)


@pytest.mark.parametrize(
    ("amount", "charge"),
    [
        ("1,234.56", 1_234_560_000),
        ("$1,234.56", 1_234_560_000),
        ("1,234,567", 1_234_567_000_000),
        ("-1,234.50", -1_234_500_000),
    ],
)
def test_commas_between_thousands_are_no_part_of_an_amount(
    serve: Serve, amount: str, charge: int
) -> None:
    row = {**bill_row(0), "spend": amount}
    del row["charge_micro_usd"]
    bill = Bill({"rows": [row]}, {"rows": [row]})
    bill.csv = f'model,spend\nacme/dream-2,"{amount}"\nSumme,"{amount}"\n'
    with serve(bill) as (_, client):
        frames = client.spend.daily(TODAY), client.spend.monthly()
        for frame in (*frames, client.spend.monthly_csv()):
            assert frame["charge_micro_usd"].tolist() == [charge]


def test_a_csv_with_two_columns_of_the_name_is_not_read(
    serve: Serve,
) -> None:
    bill = Bill.of(bill_row(0))
    bill.csv = "model,spend,spend\nacme/dream-2,0.34,0\nSumme,0.34,0\n"
    with (
        serve(bill) as (_, client),
        pytest.raises(mk.ServiceError, match="2 columns named spend"),
    ):
        client.spend.monthly_csv()


# 1,234 dollars may be a dollar and 23.4 cents, where people write so.
@pytest.mark.parametrize(
    "amount", ["0.0000001", "1,5", "1,234", "0,680", "NaN", "1e999999", True, []]
)
def test_an_amount_that_is_no_whole_number_of_micro_usd_is_in_no_sum(
    serve: Serve, amount: object
) -> None:
    rows = [{**bill_row(0), "spend": each} for each in (amount, 0.34)]
    for row in rows:
        del row["charge_micro_usd"]
    bill = Bill({"rows": rows})
    with serve(bill) as (_, client):
        with pytest.warns(mk.IncompleteDataWarning, match="1 of 2 rows"):
            frame = client.spend.daily(TODAY)
        assert frame["charge_micro_usd"].sum() == 340_000


def test_a_table_of_reports_with_another_key_is_refused(serve: Serve) -> None:
    with (
        pytest.raises(mk.InputError, match=r"mediakit\.toml: reports\.spend"),
        serve(Bill(), 'spend = "spend"'),
    ):
        pass
