"""The page of a month: what it says, and that outside text stays text."""

from __future__ import annotations

import base64
import csv
import io
import re
from datetime import date
from pathlib import Path
from typing import Any

import anyio
import pytest

from mediakit.client.budgets import budget_of
from mediakit.errors import InputError, ServiceError
from mediakit.widgets.dashboard import page as module
from mediakit.widgets.dashboard.page import write_report
from tests.spend.fake_spend import (
    FORMULA,
    HOSTILE,
    TODAY,
    FakeReconciliation,
    FakeSpend,
    charges_frame,
)
from tests.support.job_states import Markup
from tests.widgets.dashboard.test_dashboard import leave_out_pictures

# Pictures and files of a module are made once, in one process.
pytestmark = pytest.mark.xdist_group("dashboard")
TAGS_NOT_NEEDED = {"script", "link", "iframe"}


def write(
    path: Path, spend: Any = None, month: str | None = None, **labels: str
) -> Path:
    spend = spend or FakeSpend()
    return anyio.run(write_report, spend, spend.today, month, path, None, labels)


@pytest.fixture(scope="module")
def html(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("report") / "october.html"
    assert write(path) == path
    assert [each.name for each in path.parent.iterdir()] == ["october.html"]
    return path.read_text("utf-8")


def test_the_page_says_what_was_charged_and_that_it_is_explained(html: str) -> None:
    page = Markup(html)
    assert "Spend · October 2026" in page.text
    assert "$53.40charged" in page.text
    assert "✓ $53.40 charged in October 2026; all of it is explained." in page.text
    assert "Read on 20 October 2026." in page.text
    for function in ("R1", "Text to video", "Video upscale", "Keyframes"):
        assert function in page.text
    assert "Total45$53.399146100.00" in page.text
    assert HOSTILE in page.text
    assert "onerror" not in {name for _, attrs in page.tags for name in attrs}


def test_the_page_has_the_projects_the_forecast_and_the_budget(
    html: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = Markup(html).text
    for words in ("By project", "Dunes", "Harbour", "no project"):
        assert words in page
    assert "80% interval" in page
    assert "Budget and forecast" not in page
    leave_out_pictures(monkeypatch)
    path = tmp_path / "budget.html"
    budget = budget_of("report", "$60")
    spend: Any = FakeSpend()
    anyio.run(write_report, spend, TODAY, None, path, budget, {})
    text = Markup(path.read_text("utf-8")).text
    assert "Budget and forecast" in text
    assert "over the budget of $60.00" in text
    anyio.run(write_report, spend, TODAY, "2026-09", path, budget, {})
    assert "The budget of $60.00 was exceeded by" in Markup(path.read_text()).text


@pytest.mark.parametrize("unreadable", [("daily",), ("monthly",), ("daily", "monthly")])
def test_a_report_that_cannot_be_read_leaves_a_page_of_the_rest_and_says_so(
    unreadable: tuple[str, ...], tmp_path: Path
) -> None:
    spend = FakeSpend()

    async def refuse(*_: Any, **__: Any) -> Any:
        raise ServiceError("The report has no list of charges.", status=200)

    for name in unreadable:
        setattr(spend, name, refuse)
    labels = {"key_1": "Mia"}
    page = Markup(write(tmp_path / "month.html", spend, **labels).read_text("utf-8"))

    assert "$53.40charged" in page.text
    for name in unreadable:
        sentence = f"charges in this history replace the {name} report"
        if unreadable == ("monthly",):
            sentence = "the amount charged is the sum of the daily report"
        assert page.text.count(sentence) == 1
    assert "Total45$53.399146100.00" in page.text


@pytest.mark.parametrize("month", ["2026-10", "2026-09"])
def test_a_month_that_cannot_be_read_is_not_called_empty(
    month: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    leave_out_pictures(monkeypatch)
    spend = FakeSpend(charges_frame().iloc[:0])

    async def refuse(*_: Any, **__: Any) -> Any:
        raise ServiceError("The report has no list of charges.", status=200)

    spend.daily = refuse  # type: ignore[method-assign]
    page = Markup(write(tmp_path / "month.html", spend, month).read_text("utf-8"))
    assert page.text.count("charges in this history replace the daily report") == 1
    assert "Nothing was charged" not in page.text
    assert "Nothing has been charged" not in page.text


def test_a_service_that_does_not_answer_leaves_no_page(tmp_path: Path) -> None:
    spend = FakeSpend()

    async def refuse(*_: Any, **__: Any) -> Any:
        raise ServiceError("The service does not respond.")

    spend.daily = refuse  # type: ignore[method-assign]
    with pytest.raises(ServiceError, match="does not respond"):
        write(tmp_path / "month.html", spend)
    assert not list(tmp_path.iterdir())


def test_the_page_needs_no_network_and_no_script(html: str) -> None:
    page = Markup(html)
    assert TAGS_NOT_NEEDED.isdisjoint(tag for tag, _ in page.tags)
    places = ("src", "href", "srcset", "xlink:href")
    urls = [attrs[n] or "" for _, attrs in page.tags for n in places if n in attrs]
    assert urls
    assert all(url.startswith(("data:", "#")) for url in urls)
    assert set(re.findall(r"url\((.)", html)) <= {"#"}
    # Each plot is drawn once, and takes the colours of the reader's theme.
    pictures = [attrs for tag, attrs in page.tags if tag in ("svg", "img")]
    assert len(pictures) == 6
    assert all(attrs.get("aria-label") or attrs.get("alt") for attrs in pictures)
    assert "prefers-color-scheme:dark" in html


def test_the_csv_in_the_page_has_the_exact_sum(html: str) -> None:
    page = Markup(html)
    link = page.first("a") or {}
    assert link["download"] == "spend-2026-10.csv"
    text = base64.b64decode(str(link["href"]).partition("base64,")[2]).decode()
    rows = list(csv.DictReader(io.StringIO(text)))
    assert sum(int(row["charge_micro_usd"]) for row in rows) == 53_399_146
    assert len(rows) == 45
    assert {f"'{FORMULA}"} < {row["prompt"] for row in rows}


def test_what_is_not_explained_is_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Unexplained(FakeReconciliation):
        def frame(self, by: str = "month") -> Any:
            found = super().frame(by)
            return found.assign(verdict="other_key", difference_micro_usd=17)

    class Spend(FakeSpend):
        async def reconcile(self, month: str | None = None) -> FakeReconciliation:
            return Unexplained("2026-10", 1, False, text="$0.000017 is not explained.")

    leave_out_pictures(monkeypatch)
    page = Markup(write(tmp_path / "page.html", Spend()).read_text("utf-8"))
    assert "! $0.000017 is not explained." in page.text
    assert "What is not explained" in page.text
    assert "$0.000017another API key" in page.text


def test_a_month_that_is_over_is_reported_whole_and_an_empty_one_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_CHARGES", 10)
    leave_out_pictures(monkeypatch)
    charged = charges_frame(date(2026, 8, 1), date(2026, 9, 30))
    spend = FakeSpend(charged)
    page = Markup(write(tmp_path / "p.html", spend, "2026-09").read_text("utf-8"))
    assert "forecast, 80%" not in page.text
    september = charged[charged["day"].dt.month == 9]["charge_micro_usd"]
    assert f"Total{len(september)}" in page.text
    assert f"{september.sum() / 1_000_000:.6f}".rstrip("0") in page.text
    assert page.text.count("media_2026") == 10
    assert f"and {len(september) - 10} more, which are in the CSV." in page.text
    empty = Markup(write(tmp_path / "may.html", month="2026-05").read_text("utf-8"))
    assert "Nothing was charged in May 2026." in empty.text
    spend = FakeSpend(charged, today=date(2026, 10, 1))
    begun = Markup(write(tmp_path / "october.html", spend).read_text("utf-8"))
    assert "$0.00 has been charged so far in October 2026; about $" in begun.text


def test_nothing_is_written_when_the_month_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ServiceError):
        write(tmp_path / "october.html", FakeSpend(failing=["daily"]))
    with pytest.raises(InputError, match="a month that has begun"):
        write(tmp_path / "november.html", month="2026-11")
    assert list(tmp_path.iterdir()) == []
