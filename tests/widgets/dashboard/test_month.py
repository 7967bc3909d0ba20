"""The figures of a month and what they are read from, without a kernel."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import Any

import anyio
import pandas as pd
import pytest

from mediakit.errors import InputError, ServiceError
from mediakit.money import format_usd
from mediakit.widgets.dashboard.exports import jobs_text
from mediakit.widgets.dashboard.figures import (
    UNKNOWN,
    figures_of,
    narrowed,
    range_text,
    values_of,
    verdict_of,
)
from mediakit.widgets.dashboard.month import (
    By,
    MonthReading,
    compared_days,
    read_checks,
    read_month,
    readable_month,
    selectable_months,
)
from mediakit.widgets.dashboard.page import table_html
from mediakit.widgets.dashboard.plots import so_far
from tests.spend.fake_spend import TODAY, FakeReconciliation, FakeSpend

MONTH = "2026-10"


def read(
    spend: FakeSpend | None = None,
    by: By = By.FUNCTION,
    labels: dict[str, str] | None = None,
) -> Any:
    async def both() -> MonthReading:
        fake: Any = spend or FakeSpend()
        found = await read_month(fake, MONTH, by, None, TODAY, labels or {})
        return await read_checks(fake, found)

    return anyio.run(both)


@pytest.fixture(scope="module")
def reading() -> MonthReading:
    found: MonthReading = read()
    return found


def texts(reading: MonthReading, only: str | None = None) -> dict[str, str]:
    return {each.label: each.text for each in figures_of(reading, only)}


def test_a_month_that_is_not_over_is_compared_with_as_many_days() -> None:
    assert compared_days(MONTH, TODAY) == (
        date(2026, 9, 1),
        date(2026, 9, 20),
        "September 1–20",  # noqa: RUF001
    )
    assert compared_days("2026-09", TODAY)[1:] == (date(2026, 8, 31), "August")
    # February has no 30th: all of it is compared.
    assert compared_days("2026-03", date(2026, 3, 30))[1:] == (
        date(2026, 2, 28),
        "February",
    )
    assert compared_days(MONTH, date(2026, 10, 1))[2] == "September 1"


def test_months_that_have_begun_are_offered_and_others_are_refused() -> None:
    months = selectable_months(TODAY, "2023-02")
    assert (months[0], months[-1]) == (MONTH, "2023-02")
    assert readable_month(None, TODAY) == MONTH
    for wrong in ("2026-11", "2026-13", "October", ""):
        with pytest.raises(InputError, match="month"):
            readable_month(wrong, TODAY)


def test_the_figures_of_a_month_are_exact_and_its_jobs_are_counted_once(
    reading: MonthReading,
) -> None:
    assert texts(reading) == {
        "charged today (UTC)": "$4.66",
        "charged in October": "$53.40",
        "forecast, 80% interval": "$80.93–$84.33",  # noqa: RUF001
        "jobs charged in October": "45",
        "per kept result": "$1.84",
        "vs September 1–20": "+0.1%",  # noqa: RUF001
    }
    exact = int(reading.charges["charge_micro_usd"].sum())
    assert reading.charged_micro_usd == exact
    assert figures_of(reading, None)[1].exact == "$53.399146"
    day = pd.to_datetime(reading.daily["day"], utc=True).dt.date == TODAY
    today = int(reading.daily.loc[day, "charge_micro_usd"].sum())
    assert figures_of(reading, None)[0].exact == format_usd(today)
    # A job that failed cost nothing: it is no charged job, and it is said.
    failed = reading.charges.head(2).assign(charge_micro_usd=0, status="failed")
    charges = pd.concat([reading.charges, failed], ignore_index=True)
    (jobs,) = (
        each
        for each in figures_of(replace(reading, charges=charges), None)
        if each.label == "jobs charged in October"
    )
    assert (jobs.text, jobs.exact) == ("45", "2 more at no charge (2 failed)")
    assert jobs_text(charges) == ("45 charged jobs and 2 more at no charge (2 failed)")


def test_ten_times_as_much_as_before_is_a_multiple_and_not_a_percentage(
    reading: MonthReading,
) -> None:
    def change(before_micro_usd: int) -> str:
        before = reading.before.head(1).assign(charge_micro_usd=before_micro_usd)
        return texts(replace(reading, before=before))["vs September 1–20"]  # noqa: RUF001

    charged = reading.charged_micro_usd
    assert change(charged // 9) == "+800%"
    assert change(charged // 10) == "10×"  # noqa: RUF001
    assert change(charged // 257) == "257×"  # noqa: RUF001


@pytest.mark.parametrize("by", By)
def test_the_parts_of_a_month_are_the_whole(by: By) -> None:
    found = read(by=by)
    parts = [narrowed(found, each) for each in values_of(found)]
    sums = [int(part.daily["charge_micro_usd"].sum()) for part in parts]
    assert sum(sums) == found.charged_micro_usd
    assert sums == sorted(sums, reverse=True)
    if by is not By.KEY:  # charges know no key
        own = [int(part.charges["charge_micro_usd"].sum()) for part in parts]
        assert own == sums
    # What the whole month comes to says nothing of one part.
    assert parts[0].forecast is None


@pytest.mark.parametrize(
    ("days", "text", "label"),
    [
        (0, UNKNOWN, "forecast: available after one full day"),
        (1, "$81.56", "rough forecast from 1 day"),
        (6, "$81.56", "rough forecast from 6 days"),
    ],
)
def test_a_forecast_says_how_little_it_rests_on_and_draws_no_range(
    reading: MonthReading, days: int, text: str, label: str
) -> None:
    early = replace(reading, forecast=replace(reading.forecast, complete_days=days))
    figure = figures_of(early, None)[2]
    assert (figure.text, figure.label) == (text, label)
    assert "80%" not in so_far(early).alt
    assert "80%" in so_far(reading).alt


def test_keys_have_the_names_that_they_were_given() -> None:
    (key,) = values_of(read(by=By.KEY))[:1]
    assert values_of(read(by=By.KEY, labels={key: "Mia"}))[0] == "Mia"


def test_functions_of_several_models_that_share_a_name_stay_apart(
    reading: MonthReading,
) -> None:
    # The daily report calls what r1 to r6 do by one name.
    daily = reading.daily.assign(function="reference-to-video")
    assert values_of(replace(reading, daily=daily)) == values_of(reading)


def test_without_a_keeper_and_without_a_month_before_there_is_a_dash(
    reading: MonthReading,
) -> None:
    unkept = reading.charges.assign(keep=pd.array([None] * 45, dtype="boolean"))
    bare = replace(reading, charges=unkept, before=reading.before.head(0))
    assert texts(bare)["per kept result (none kept)"] == "–"  # noqa: RUF001
    assert texts(bare)["vs September 1–20 (nothing charged)"] == "–"  # noqa: RUF001


def test_the_verdict_is_the_reconciliation_s_own_sentence(
    reading: MonthReading,
) -> None:
    verdict = verdict_of(reading)
    assert verdict is not None
    assert (verdict.mark, verdict.tone) == ("✓", "good")
    assert verdict.text == "$53.40 charged in October 2026; all of it is explained."
    other = FakeReconciliation(MONTH, 1, is_explained=False, text="$1 is not.")
    unexplained = verdict_of(replace(reading, reconciliation=other))
    assert unexplained is not None
    assert (unexplained.mark, unexplained.tone) == ("!", "warn")


def test_a_range_is_written_in_whole_dollars_if_it_reaches_100() -> None:
    assert range_text(97_910_000, 152_380_000) == "$98–$152"  # noqa: RUF001
    assert range_text(64_078_975, 85_438_633) == "$64.08–$85.44"  # noqa: RUF001
    assert range_text(171_400_000, 171_400_001) == "$171"


def test_incomparable_months_are_reported_and_unreadable_ones_raise() -> None:
    for name in ("reconcile", "forecast"):
        found = read(FakeSpend(failing=[name]))
        assert found.troubles == ("The service does not answer.",)
    for name in ("daily", "monthly", "charges"):
        with pytest.raises(ServiceError):
            read(FakeSpend(failing=[name]))


def test_a_table_is_exact_and_says_how_many_rows_more() -> None:
    frame = pd.DataFrame(
        {
            "charge_micro_usd": [1_020_003] * 20,
            "day": pd.to_datetime(["2026-10-01"] * 20, utc=True),
            "unknown_micro_usd": pd.array([None] * 20, dtype="Int64"),
        }
    )
    html = table_html(frame)
    for text in ("1.020003", "2026-10-01", "and 5 more"):
        assert text in html
    assert "<NA>" not in html
