"""A reconciliation claims only facts that the history and the reports show."""

from __future__ import annotations

from typing import Any

import pytest

from mediakit import Client
from mediakit.spend.reconcile import Reconciliation
from tests.support.rows import assert_each
from tests.support.servers.billing_server import FUNCTION, Bill, BillingServer, bill_row


def pay(client: Client, service: BillingServer, *charges_micro_usd: int) -> list[str]:
    """Run a job for each charge, and read its charge; return the ids."""
    jobs = []
    for number, charge_micro_usd in enumerate(charges_micro_usd):
        service.next_charge_micro_usd = charge_micro_usd
        prompt = f"kite {number}"
        jobs.append(client.submit("text-to-video", prompt=prompt, duration=3))
    return [job.settle().id for job in jobs]


def verdicts(result: Reconciliation) -> set[str | None]:
    verdicts = result.frame()["verdict"]
    return {each if isinstance(each, str) else None for each in verdicts}


def column_sum(result: Reconciliation, name: str) -> int:
    return int(result.frame()[f"{name}_micro_usd"].sum())


def missing(result: Reconciliation) -> dict[str, int]:
    """Return the difference of each verdict that is not equality, micro-USD."""
    frame = result.frame()
    frame = frame[frame["verdict"] != "equal"]
    sums = frame.groupby("verdict")["difference_micro_usd"].sum()
    return {str(verdict): int(more) for verdict, more in sums.items()}


# -- whose charges they are --------------------------------------------------------


def test_the_spend_of_a_larger_stranger_is_in_the_sentence(
    client: Client, service: BillingServer
) -> None:
    pay(client, service, 1_000_000)
    service.bill = Bill.of(bill_row(1_000_000), bill_row(99_000_000, key="stranger"))
    result = client.spend.reconcile()
    assert not result.is_explained
    assert result.own_keys == ()
    assert missing(result) == {"missing_here": 99_000_000}
    for words in ("$100.00 charged", "$1.00 in this history", "key_1, stranger"):
        assert words in result.text
    named = client.spend.reconcile(own_keys="key_1")
    assert not named.is_explained
    assert missing(named) == {"other_key": 99_000_000}
    assert "$99.00 was charged to other API keys (stranger)" in named.text


def test_a_colleague_with_one_job_of_the_same_price_is_not_taken_for_this_history(
    client: Client, service: BillingServer
) -> None:
    pay(client, service, 204_000)  # nine of ten were lost
    service.bill = Bill.of(bill_row(2_040_000), bill_row(204_000, key="colleague"))
    result = client.spend.reconcile()
    assert result.own_keys == ()
    assert missing(result) == {"missing_here": 2_040_000}

    named = client.spend.reconcile(own_keys="key_1")
    assert missing(named) == {"missing_here": 1_836_000, "other_key": 204_000}


def test_one_key_on_two_computers_is_not_called_a_fault(
    client: Client, service: BillingServer
) -> None:
    pay(client, service, 204_000)
    service.bill = Bill.of(bill_row(544_000, jobs=2))
    result = client.spend.reconcile()
    assert not result.is_explained
    assert missing(result) == {"missing_here": 340_000}
    assert "service's reports" not in result.text
    assert column_sum(result, "history") == 204_000
    assert column_sum(result, "daily") == column_sum(result, "monthly") == 544_000


def test_untrusted_text_stays_text_in_a_notebook(
    client: Client, service: BillingServer
) -> None:
    service.bill = Bill.of(bill_row(1_000_000, key="<img src=x>", path="<b>/x/y"))
    shown = client.spend.reconcile(own_keys="key_1")._repr_html_()
    assert "&lt;img src=x&gt;" in shown
    assert "<img" not in shown
    assert "<b>" not in shown


# -- what could not be read --------------------------------------------------------


def unreadable() -> dict[str, list[dict[str, Any]]]:
    """Return reports of today, by name, that cannot be read as a whole."""
    return {
        "daily": [
            {"days": "none"},
            {"rows": [bill_row(None)]},
            {"rows": [bill_row(340_000), bill_row("free")]},
            {"rows": [bill_row(340_000, date="yesterday")]},
            {"rows": [bill_row(340_000)], "next_cursor": "c2"},
            {"rows": [bill_row(340_000)], "has_more": True},
        ],
        "monthly": [
            {"charges_micro_usd": 340_000, "invoices": [{"total_micro_usd": 5}]},
            {
                name: [{"model": "dream-2", "amount_micro_usd": 340_000}]
                for name in ("usage", "charges", "credits_applied", "invoices")
            },
            {
                "total_micro_usd": 340_000,
                "by_api_key": [{"api_key_id": "key_1", "charge_micro_usd": 340_000}],
                "by_model": [{"model": "dream-2", "charge_micro_usd": 340_000}],
            },
            {
                "charges": [{"model": "dream-2", "charge_micro_usd": 340_000}],
                "credits": [{"model": "dream-2", "charge_micro_usd": -5}],
            },
        ],
    }


@pytest.mark.parametrize("name", ["daily", "monthly"])
def test_an_unreadable_report_is_reported_once_and_not_compared(
    client: Client, service: BillingServer, name: str
) -> None:
    pay(client, service, 340_000)
    service.bill = Bill.of(bill_row(340_000))

    def check(report: dict[str, Any]) -> None:
        setattr(service.bill, name, report)
        result = client.spend.reconcile()
        assert not result.is_explained
        # The other report is compared nevertheless.
        assert verdicts(result) == {"equal"}
        assert result.frame()[f"{name}_micro_usd"].isna().all()
        assert result.text.count(f"{name} report") == 1
        assert result.charged_micro_usd == 340_000
        assert column_sum(result, "history") == 340_000

    assert_each(unreadable()[name], check)


# -- names and totals --------------------------------------------------------------

OTHER_TOTALS = ["All models", ""]


def test_a_shorter_name_of_a_function_is_the_same_function(
    client: Client, service: BillingServer
) -> None:
    pay(client, service, 506_000)
    short = {"model": "text-to-video", "function": "text-to-video"}
    service.bill = Bill.of(bill_row(506_000))
    service.bill.daily = {"rows": [bill_row(506_000, **short)]}
    result = client.spend.reconcile()
    assert result.is_explained
    assert verdicts(result) == {"equal"}
    assert result.frame()["function"].tolist() == [FUNCTION]


def test_a_monthly_report_with_names_of_its_own_is_compared_by_its_total(
    client: Client, service: BillingServer
) -> None:
    pay(client, service, 506_000)
    service.bill = Bill.of(bill_row(506_000))
    row = {"model": "Dream 2", "charge_micro_usd": 506_000}
    service.bill.monthly = {"rows": [row]}
    assert client.spend.reconcile().is_explained
    row["charge_micro_usd"] = 506_007
    result = client.spend.reconcile()
    assert result.charged_micro_usd == 506_007
    assert missing(result) == {"missing_here": 7}
    assert (
        "$0.000007 is the difference between the monthly report's total" in result.text
    )


@pytest.mark.parametrize(
    "name", ["Total", *(pytest.param(n, marks=pytest.mark.soak) for n in OTHER_TOTALS)]
)
def test_a_row_of_totals_is_not_added_to_its_rows(
    client: Client, service: BillingServer, name: str
) -> None:
    pay(client, service, 506_000)
    service.bill = Bill.of(bill_row(506_000))
    total = {"model": name, "function": None, "charge_micro_usd": 506_000}
    service.bill.monthly["rows"].append(total)
    service.bill.daily["rows"].append({**total, "api_key_id": None, "date": None})
    service.bill.csv = service.bill.csv.replace("total", name)
    result = client.spend.reconcile()
    assert result.is_explained, result.text
    assert result.charged_micro_usd == 506_000
    assert int(client.spend.monthly()["charge_micro_usd"].sum()) == 506_000
    today = client.spend.daily(service.bill.daily["rows"][0]["date"])
    assert int(today["charge_micro_usd"].sum()) == 506_000
    csv = client.spend.monthly_csv()
    assert int(csv["charge_micro_usd"].sum()) == 506_000
    assert csv.attrs["total_micro_usd"] == 506_000
