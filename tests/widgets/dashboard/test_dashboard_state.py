"""The dashboard's state and words, without a kernel."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import Any

import anyio
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mediakit.errors import InputError, ServiceError
from mediakit.widgets.dashboard.figures import (
    cents_text,
    figures_of,
    narrowed,
    range_text,
    values_of,
    verdict_of,
)
from mediakit.widgets.dashboard.html import kept_text, status_html, table_html
from mediakit.widgets.dashboard.month_data import (
    By,
    MonthReading,
    read_checks,
    read_month,
)
from mediakit.widgets.dashboard.months import compared_days, offered, readable_month
from mediakit.widgets.dashboard.state import DashboardState
from tests.spend.fake_spend import TODAY, FakeReconciliation, FakeSpend

MONTH = "2026-10"
START = DashboardState(MONTH, offered(TODAY, MONTH))


def read(
    spend: FakeSpend | None = None, month: str = MONTH, by: By = By.FUNCTION
) -> Any:
    async def both() -> MonthReading:
        fake: Any = spend or FakeSpend()
        found = await read_month(fake, month, by, None, TODAY)
        return await read_checks(fake, found)

    return anyio.run(both)


@pytest.fixture(scope="module")
def reading() -> MonthReading:
    found: MonthReading = read()
    return found


def texts(reading: MonthReading, only: str | None = None) -> dict[str, str]:
    return {each.label: each.text for each in figures_of(reading, only)}


# -- months -------------------------------------------------------------------------


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


@pytest.mark.parametrize("month", ["2026-11", "2027-01", "October", "2026-13"])
def test_a_month_that_has_not_begun_or_is_none_is_refused(month: str) -> None:
    with pytest.raises(InputError, match="month"):
        readable_month(month, TODAY)


# -- states -------------------------------------------------------------------------


def test_a_month_loads_keeps_forgets_and_fails_without_showing_a_wrong_number(
    reading: MonthReading,
) -> None:
    assert "Loading the spend of October 2026…" in status_html(START)
    shown = replace(START.having_checked(reading), is_loading=False)
    divided = shown.choosing_by(By.PROJECT)
    assert divided.choices == ()
    assert "53.40" in status_html(divided)
    assert "Loading" in status_html(divided)
    other = shown.choosing_month("2026-09")
    assert (other.reading, other.panels, other.only) == (None, (), None)
    assert other.notice == "Loading the spend of September 2026…"
    failed = START.having_read(reading).failing("The service does not answer.")
    assert not failed.is_loading
    assert status_html(failed).count("The service does not answer.") == 1
    assert "53.40" not in status_html(failed)
    assert failed.retrying().trouble == ""


# -- figures ------------------------------------------------------------------------


def test_the_figures_of_a_month_are_exact(reading: MonthReading) -> None:
    assert texts(reading) == {
        "charged": "$53.40",
        "month's end, 80 %": "$64.08–$85.44",  # noqa: RUF001
        "jobs": "45",
        "per kept result": "$1.84",
        "on September 1–20": "+0.1 %",  # noqa: RUF001
    }
    exact = int(reading.charges["charge_micro_usd"].sum())
    assert reading.charged_micro_usd == exact
    assert figures_of(reading, None)[0].exact == "$53.399146"


def test_one_function_alone_has_its_own_sums(reading: MonthReading) -> None:
    first = values_of(reading)[0]
    assert first == "R1"
    shown = narrowed(reading, first)
    charged = int(shown.daily["charge_micro_usd"].sum())
    assert texts(reading, first)["charged, of $53.40"] == cents_text(charged)
    assert charged == int(shown.charges["charge_micro_usd"].sum())
    # What the whole month comes to says nothing of one function.
    assert shown.forecast is None
    parts = [
        int(narrowed(reading, each).daily["charge_micro_usd"].sum())
        for each in values_of(reading)
    ]
    assert sum(parts) == reading.charged_micro_usd


def test_projects_are_listed_and_what_has_none_is_still_in_the_sum() -> None:
    found = read(by=By.PROJECT)
    assert set(values_of(found)) == {"Dunes", "Harbour", "no project"}
    assert int(found.daily["charge_micro_usd"].sum()) == found.charged_micro_usd


def test_functions_of_several_models_that_share_a_name_stay_apart(
    reading: MonthReading,
) -> None:
    # The daily report calls what r1 to r6 do by one name.
    daily = reading.daily.assign(function="reference-to-video")
    shared = replace(reading, daily=daily)
    assert values_of(shared) == values_of(reading)
    for name in values_of(shared):
        alone, before = narrowed(shared, name), narrowed(reading, name)
        sums = [int(each.daily["charge_micro_usd"].sum()) for each in (alone, before)]
        assert sums[0] == sums[1] == int(alone.charges["charge_micro_usd"].sum())


def test_without_a_keeper_and_without_a_month_before_there_is_a_dash(
    reading: MonthReading,
) -> None:
    unkept = reading.charges.assign(keep=pd.array([None] * 45, dtype="boolean"))
    bare = replace(reading, charges=unkept, before=reading.before.head(0))
    assert texts(bare)["per kept result (none kept)"] == "–"  # noqa: RUF001
    assert texts(bare)["nothing charged in September 1–20"] == "–"  # noqa: RUF001


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


@given(micro_usd=st.integers(-(10**15), 10**15))
def test_a_rounded_amount_is_within_half_a_cent_and_never_a_false_zero(
    micro_usd: int,
) -> None:
    text = cents_text(micro_usd)
    if 0 < abs(micro_usd) < 10_000:
        assert "<$0.01" in text
    else:
        cents = int(text.replace("$", "").replace(",", "").replace(".", ""))
        assert abs(cents * 10_000 - micro_usd) <= 5_000


def test_a_range_is_written_in_whole_dollars_if_it_reaches_100() -> None:
    assert range_text(97_910_000, 152_380_000) == "$98–$152"  # noqa: RUF001
    assert range_text(64_078_975, 85_438_633) == "$64.08–$85.44"  # noqa: RUF001
    assert range_text(171_400_000, 171_400_001) == "$171"


# -- reading ------------------------------------------------------------------------


def test_what_cannot_be_compared_is_said_and_what_cannot_be_read_is_an_error() -> None:
    for name in ("reconcile", "forecast"):
        found = read(FakeSpend(failing=[name]))
        assert found.troubles == ("The service does not answer.",)
        state = START.having_read(found).having_checked(found)
        assert "53.40" in status_html(state)
        assert "The service does not answer." in status_html(state)
    for name in ("daily", "monthly", "charges"):
        with pytest.raises(ServiceError):
            read(FakeSpend(failing=[name]))


# -- tables -------------------------------------------------------------------------


def test_a_table_is_exact_and_says_how_many_rows_more(reading: MonthReading) -> None:
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
    state = START.having_read(reading).having_checked(reading)
    assert "$53.40 charged" in kept_text(state)
