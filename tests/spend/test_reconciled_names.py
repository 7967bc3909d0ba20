"""Reports that name functions and keys in their own way, from a scripted service.

The history is the user's own, so no charge in it may be called somebody else's, or
missing at the service, because of a name.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mediakit import Catalog, Client
from mediakit.spend.reconcile import Reconciliation
from tests.support.mid_month_clock import MidMonthClock
from tests.support.servers.billing_server import Bill, BillingServer, bill_row

VIDEO, IMAGE = "acme/dream-2/text-to-video", "acme/dream-2/text-to-image"
KITE_MICRO_USD = 340_000
Names = Callable[[str], dict[str, Any]]


def catalog(*paths: str) -> Catalog:
    known = Catalog.default()
    kinds = [(path, path.rpartition("/")[2]) for path in paths]
    return Catalog(
        tuple(replace(known.function(kind), path=path) for path, kind in kinds)
    )


def month(
    tmp_path: Path, names: Names, *, monthly: Names | None = None, own_keys: Any = None
) -> Reconciliation:
    """Buy two clips, and reconcile them with reports that name them so."""
    with BillingServer() as server:
        server.next_charge_micro_usd = KITE_MICRO_USD
        with Client(
            server.base_url,
            "key-0123456789",
            home=tmp_path,
            catalog=catalog(VIDEO, "other/wave/text-to-video"),
        ) as client:
            for prompt in ("a kite", "a gull"):
                client.run(VIDEO, prompt=prompt).settle()
            bill = Bill.of(bill_row(2 * KITE_MICRO_USD, path=VIDEO))
            for report, named in (
                (bill.daily, names),
                (bill.monthly, monthly or names),
            ):
                for row in report["rows"]:
                    path = f"{row.pop('model')}/{row.pop('function')}"
                    row |= named(path)
            server.bill = bill
            return client.spend.reconcile(own_keys=own_keys)


NAMED: dict[str, Names] = {
    "path": lambda path: {"model": path},
    "model id": lambda path: {"model_id": path},
    "vendor and model": lambda path: {"model": path.rpartition("/")[0]},
    "model": lambda path: {"model": path.split("/")[1]},
    "model and function": lambda path: {"model": path.partition("/")[2]},
}


@pytest.mark.spec("4.19")
@pytest.mark.parametrize("names", NAMED.values(), ids=NAMED)
@pytest.mark.parametrize("others", [None, NAMED["path"]], ids=["all", "daily alone"])
def test_ones_own_charges_are_explained_whatever_the_reports_call_the_function(
    names: Names, others: Names | None, tmp_path: Path
) -> None:
    result = month(tmp_path, names, monthly=others)

    assert result.is_explained, result.text
    assert result.history_micro_usd == result.charged_micro_usd == 2 * KITE_MICRO_USD
    again = month(tmp_path / "again", names, monthly=others, own_keys=["key_1"])
    assert again.is_explained


@pytest.mark.spec("4.19")
@pytest.mark.parametrize("own_keys", [None, ["key_1"]])
def test_an_unknown_name_is_not_compared_and_neither_missing_nor_foreign(
    own_keys: Any, tmp_path: Path
) -> None:
    result = month(tmp_path, lambda _: {"model": "Dream Two"}, own_keys=own_keys)

    assert not result.is_explained
    assert "$0.68 for Dream Two cannot be compared" in result.text
    assert "against $0.68 in this history cannot be compared" in result.text
    for claim in ("missing", "own_keys", "rebuild", "other API keys"):
        assert claim not in result.text
    assert result.frame()["verdict"].isna().all()


def test_a_model_of_two_functions_is_compared_as_one(tmp_path: Path) -> None:
    with BillingServer() as server:
        paths = catalog(VIDEO, IMAGE)
        with Client(
            server.base_url, "key-0123456789", home=tmp_path, catalog=paths
        ) as client:
            client.run(VIDEO, prompt="a kite").settle()
            client.run(IMAGE, prompt="a gull").settle()
            row = bill_row(680_000, path="acme/dream-2/x") | {"function": None}
            server.bill = Bill.of(row)
            result = client.spend.reconcile()

    assert result.is_explained, result.text
    assert result.frame()["history_micro_usd"].tolist() == [680_000]


@pytest.mark.spec("4.19")
@pytest.mark.parametrize("name", ["api_key", "key_id", "api_key_name"])
def test_a_key_is_read_under_any_name(name: str, tmp_path: Path) -> None:
    def named(path: str) -> dict[str, Any]:
        return {"model": path, name: "k", "api_key_id": None}

    with (
        BillingServer() as server,
        Client(
            server.base_url, "key-0123456789", home=tmp_path, catalog=catalog(VIDEO)
        ) as client,
    ):
        client.run(VIDEO, prompt="a kite").settle()
        row = bill_row(KITE_MICRO_USD, path=VIDEO, **{name: "k"})
        server.bill = Bill.of(row)
        del row["api_key_id"]
        assert client.spend.reconcile(own_keys=["k"]).is_explained
        result = client.spend.reconcile(own_keys=["other"])
        assert "own_keys could not be applied" in result.text
        assert "the daily report has k" in result.text
        for claim in ("missing", "other API keys"):
            assert claim not in result.text


@pytest.mark.parametrize("key", [None, ""])
def test_own_keys_cannot_be_applied_where_no_key_can_be_read(
    key: Any, tmp_path: Path
) -> None:
    with (
        BillingServer() as server,
        Client(
            server.base_url, "key-0123456789", home=tmp_path, catalog=catalog(VIDEO)
        ) as client,
    ):
        client.run(VIDEO, prompt="a kite").settle()
        server.bill = Bill.of(bill_row(KITE_MICRO_USD, path=VIDEO, key=key))
        result = client.spend.reconcile(own_keys=["k"])
        assert "own_keys could not be applied" in result.text
        assert result.history_micro_usd == KITE_MICRO_USD
        assert "other API keys" not in result.text
        assert "missing" not in result.text
        server.bill = Bill.of(bill_row(KITE_MICRO_USD + 7, path=VIDEO, key=key))
        result = client.spend.reconcile()
        assert "does not say which API key was charged" in result.text
        assert "own_keys=" not in result.text


@pytest.mark.spec("4.19")
def test_one_amount_is_not_both_foreign_and_missing_at_the_service(
    tmp_path: Path,
) -> None:
    clock = MidMonthClock()
    known = catalog(VIDEO)
    with (
        BillingServer(clock=clock) as server,
        Client(
            server.base_url, "key-0123456789", home=tmp_path, catalog=known, clock=clock
        ) as client,
    ):
        client.run(VIDEO, prompt="a kite").settle()
        today = f"{clock.now():%Y-%m-%d}"
        mine = bill_row(5, path=IMAGE, date=today)
        theirs = bill_row(KITE_MICRO_USD, path=VIDEO, key="key_2", date=today)
        server.bill = Bill.of(mine, theirs)
        result = client.spend.reconcile(own_keys=["key_1"])
        assert not result.is_explained
        assert "$0.34 was charged to other API keys (key_2)" in result.text
        assert "may be charges of other API keys" in result.text
        assert "missing_there" not in set(result.frame()["verdict"])
