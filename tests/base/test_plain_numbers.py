"""Numbers and days from numpy and pandas are converted to Python types."""

from __future__ import annotations

from datetime import date
from typing import Any

import numpy as np
import pandas as pd
import pytest

import mediakit as mk
from mediakit.client.async_job import read_timeout
from mediakit.client.submissions import read_take
from mediakit.errors import InputError
from mediakit.spend import day_range, month_text


@pytest.mark.parametrize("number", [np.int64(5), np.float32(5), np.float64(5), 5])
def test_a_timeout_of_any_number_type_is_read(number: Any) -> None:
    assert read_timeout(number) == 5


@pytest.mark.parametrize("other", [True, np.bool_(1), np.float64("nan"), "5", pd.NA])
def test_a_timeout_that_is_not_a_number_is_rejected(other: Any) -> None:
    with pytest.raises(InputError, match="timeout_s must be"):
        read_timeout(other)


@pytest.mark.parametrize("number", [np.int64(5), np.uint8(5), 5])
def test_a_whole_number_of_any_type_is_a_take_and_an_amount(number: Any) -> None:
    assert read_take(number) == 5
    assert type(read_take(number)) is int
    assert mk.Budget("clips", number).limit_micro_usd == 5_000_000


@pytest.mark.parametrize("other", [True, np.bool_(1), 5.0, np.float64(5), pd.NA])
def test_a_fractional_take_is_rejected(other: Any) -> None:
    with pytest.raises(InputError, match="take must be"):
        read_take(other)


@pytest.mark.parametrize("amount", [5.0, np.float64(5), np.float32(0.1)])
def test_a_float_amount_is_rejected_with_the_reason(amount: Any) -> None:
    with pytest.raises(InputError, match=r"limit must be .*floats are not accepted"):
        mk.Budget("clips", amount)


@pytest.mark.parametrize(
    "day",
    [
        date(2026, 10, 3),
        pd.Timestamp("2026-10-03"),
        pd.Timestamp("2026-10-03", tz="UTC"),
        np.datetime64("2026-10-03"),
        np.datetime64("2026-10-03", "ns"),
    ],
)
def test_a_day_of_any_type_is_accepted_as_a_day_and_for_its_month(day: Any) -> None:
    assert day_range(day, day) == ("2026-10-03", "2026-10-03")
    assert month_text(day) == "2026-10"


@pytest.mark.parametrize(
    "day",
    [
        pd.Timestamp("2026-10-03 12:00"),
        pd.Timestamp("2026-10-03", tz="Europe/Berlin"),
        np.datetime64("2026-10-03T12:00"),
        np.datetime64("NaT"),
        pd.NaT,
    ],
)
def test_an_instant_is_no_day(day: Any) -> None:
    with pytest.raises(InputError, match="start must be a day in UTC"):
        day_range(day, date(2026, 10, 4))
