"""Reports, audits and files of `client.spend`, from a service of any shape."""

from __future__ import annotations

import csv
import warnings
from pathlib import Path

import pandas as pd
import pytest

import mediakit as mk
from mediakit import Client
from mediakit.spend.exporting import export
from tests.support.servers.billing_server import FUNCTION, Bill, BillingServer, bill_row

OLD_DAY = "2026-01-05"


# -- daily -------------------------------------------------------------------------


def test_a_path_in_the_model_names_the_function(
    client: Client, service: BillingServer
) -> None:
    paths = [FUNCTION, "acme/dream-2/image-to-video"]
    rows = [bill_row(5, date=OLD_DAY, model=path) for path in paths]
    for row in rows:
        del row["function"]
    service.bill.daily = {"rows": rows}
    frame = client.spend.daily(OLD_DAY, OLD_DAY, by="function")
    assert frame["function"].tolist() == sorted(paths)
    assert frame["kind"].tolist()[1] == "text-to-video"
    assert frame["charge_micro_usd"].tolist() == [5, 5]


def test_a_refund_of_an_old_day_is_read_on_request(
    client: Client, service: BillingServer
) -> None:
    def total(*, refresh: bool = False) -> int:
        frame = client.spend.daily(OLD_DAY, OLD_DAY, refresh=refresh)
        return int(frame["charge_micro_usd"].sum())

    service.bill.daily = {"rows": [bill_row(340_000, date=OLD_DAY)]}
    assert total() == 340_000
    service.bill.daily = {"rows": [bill_row(0, date=OLD_DAY)]}
    assert total(refresh=True) == 0
    reads = len(service.daily_reads)
    assert total() == 0
    assert len(service.daily_reads) == reads


@pytest.mark.parametrize(
    "more",
    [
        {"next_cursor": "c"},
        {"page": {"has_more": True}},
        {"page": 1, "total_pages": 2},
        {"total_count": 2},
        {"links": {"next": "/billing/spend/daily?page=2"}},
    ],
)
def test_a_report_with_further_pages_causes_a_warning(
    client: Client, service: BillingServer, more: dict[str, object]
) -> None:
    service.bill.daily = {"rows": [bill_row(5, date=OLD_DAY)], **more}
    with pytest.warns(mk.IncompleteDataWarning, match="has more pages"):
        client.spend.daily(OLD_DAY, OLD_DAY)


# -- what is in no sum -------------------------------------------------------------


@pytest.mark.parametrize("name", ["daily", "monthly", "monthly_csv"])
def test_a_row_without_a_readable_charge_causes_a_warning_and_a_note(
    client: Client, service: BillingServer, name: str
) -> None:
    rows = [bill_row(5), bill_row("1.50", path="acme/dream-2/image-to-video")]
    table = "model,charge_micro_usd\r\na/b/c,5\r\nd/e/f,free\r\ntotal,5\r\n"
    service.bill = Bill({"rows": rows}, {"rows": rows}, table)
    args = [rows[0]["date"]] if name == "daily" else []
    with pytest.warns(
        mk.IncompleteDataWarning, match="1 of 2 rows of the .* has no charge and is"
    ):
        frame = getattr(client.spend, name)(*args)
    assert int(frame["charge_micro_usd"].sum()) == 5


# -- rates -------------------------------------------------------------------------


def test_one_wrong_job_before_right_ones_puts_no_rate_out_of_date(
    client: Client, service: BillingServer
) -> None:
    for number, charge_micro_usd in enumerate([100_000, 204_000, 204_000]):
        service.next_charge_micro_usd = charge_micro_usd
        job = client.submit("text-to-video", prompt=f"kite {number}", duration=3)
        job.settle()
    (audit,) = client.spend.rates().to_dict("records")
    assert (audit["jobs"], audit["wrong_jobs"]) == (3, 1)
    assert pd.isna(audit["out_of_date_since"])

    service.next_charge_micro_usd = 100_000
    last = client.submit("text-to-video", prompt="kite 3", duration=3)
    last.settle()
    (audit,) = client.spend.rates().to_dict("records")
    assert audit["out_of_date_since"] >= audit["first_wrong_day"]


# -- files -------------------------------------------------------------------------

KEPT = ["@Image1 walks, and @Video2 follows", "@Audio1", "@Image1: slowly, at dusk!"]
PROTECTED = [
    "=cmd|'/c calc'!A1",
    "@SUM(1+1)",
    "+2",
    "@Image1 =cmd|'/c calc'!A1",
    "@Image1(1)",
    '@Image1 HYPERLINK ("https://evil.example")',
    "@Images of a kite",
]


def test_prompts_are_written_as_they_are_or_as_in_the_files_of_a_sweep(
    client: Client, service: BillingServer, tmp_path: Path
) -> None:
    prompts = [*KEPT, *PROTECTED]
    results = client.sweep("text-to-video", prompt=prompts, duration=3).run(budget="$5")
    results.wait()
    results.export(tmp_path / "sweep")
    frame = client.spend.charges()
    charges = export(frame, tmp_path / "charges.csv")
    for_excel = export(frame, tmp_path / "sheet.csv", escape_formulas=True)

    assert written_prompts(charges) == set(prompts)
    written = {*KEPT, *(f"'{prompt}" for prompt in PROTECTED)}
    assert written_prompts(tmp_path / "sweep" / "manifest.csv") == written
    assert written_prompts(for_excel) == written


def written_prompts(path: Path) -> set[str]:
    with path.open(newline="", encoding="utf-8") as file:
        return {row["prompt"] for row in csv.DictReader(file)}


# -- a report that cannot be read ------------------------------------------------------

UNREADABLE = {"rows": [{"label": "Dream 2", "spend_micro_usd": 340_000}]}


@pytest.mark.parametrize("name", ["daily", "monthly"])
def test_the_page_of_a_month_has_what_can_be_read_and_says_what_is_not(
    client: Client, service: BillingServer, tmp_path: Path, name: str
) -> None:
    client.submit("text-to-video", prompt="a kite", duration=3).settle()
    row, other = bill_row(340_000), bill_row(60_000, key="a colleague's")

    def asked_days() -> dict[str, object]:
        asked = service.daily_reads[-1]
        is_asked = asked["start_date"] <= row["date"] <= asked["end_date"]
        return {"rows": [row, other] if is_asked else []}

    service.bill = Bill.of(row, other)
    service.bill.daily = asked_days
    setattr(service.bill, name, UNREADABLE)
    warned = [mk.IncompleteDataWarning] if name == "daily" else []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        page = client.spend.report(None, tmp_path / "month.html").read_text("utf-8")
    assert [each.category for each in caught] == warned
    assert f"{name} report could not be read" in page
    assert "$0.40" in page
    assert "media_000" in page
    assert "a kite" in page


def test_a_forecast_without_a_daily_report_is_of_the_charges_in_the_history(
    client: Client, service: BillingServer
) -> None:
    client.submit("text-to-video", prompt="a kite", duration=3).settle()
    service.bill.daily = UNREADABLE
    with pytest.warns(mk.IncompleteDataWarning, match="Only the charges in this hist"):
        forecast = client.spend.forecast()
    assert forecast.so_far_micro_usd == 340_000
    assert "by the charges in this history" in forecast.text
    with pytest.warns(mk.IncompleteDataWarning, match="Only the charges in this hist"):
        assert client.spend.anomalies(by="function").empty
    for call in (
        lambda: client.spend.forecast(api_key_id="key_1"),
        lambda: client.spend.anomalies(by="key"),
    ):
        with pytest.raises(mk.ServiceError, match="daily report could not be read"):
            call()
