"""Daily spend of any range: requests, cache, joined months, names and sums."""

from __future__ import annotations

import asyncio
from datetime import date, datetime, timedelta
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mediakit as mk
from mediakit.errors import AuthError, InputError
from tests.spend.books import NOW, PATH, PATHS, Books, charged, spend_of
from tests.support.soak import trials

R1 = "sandbox/r1/reference-to-video"
R2 = "sandbox/r2/reference-to-video"


def daily(books: Books, *args: Any, now: datetime = NOW, **options: Any) -> Any:
    with spend_of(books, now=now) as spend:
        return asyncio.run(spend.daily(*args, **options))


def listed(frame: pd.DataFrame, *names: str) -> list[tuple[Any, ...]]:
    columns = (
        [None if pd.isna(value) else value for value in frame[name]] for name in names
    )
    return list(zip(*columns, strict=True))


def days(frame: pd.DataFrame) -> list[str]:
    return [str(day.date()) for day in frame["day"]]


# -- ranges -----------------------------------------------------------------------


@pytest.mark.spec("4.19")
def test_a_long_range_is_read_by_calendar_month_and_joined() -> None:
    books = Books([charged("2026-08-31", 1), charged("2026-10-01", 2, R1)])
    frame = daily(books, "2026-08-30", "2026-10-02")
    assert sorted(books.asked) == [
        ("2026-08-30", "2026-08-31"),
        ("2026-09-01", "2026-09-30"),
        ("2026-10-01", "2026-10-02"),
    ]
    assert listed(frame, "charge_micro_usd", "kind") == [
        (1, "text-to-video"),
        (2, "r1"),
    ]
    assert days(frame) == ["2026-08-31", "2026-10-01"]
    assert frame.attrs["total_micro_usd"] == 3
    assert frame.attrs["report"] == {
        "start_date": "2026-08-30",
        "end_date": "2026-10-02",
        "total_micro_usd": 3,
    }


def test_finished_months_are_read_once_and_this_month_each_time() -> None:
    books = Books([charged("2026-10-05", 1), charged("2026-11-19", 2)])
    with spend_of(books) as spend:

        async def twice() -> tuple[Any, Any]:
            first = await spend.daily("2026-10-01", "2026-11-20")
            books.rows.append(charged("2026-11-20", 4))
            books.asked.clear()
            return first, await spend.daily("2026-10-01", "2026-11-20")

        first, second = asyncio.run(twice())
    assert books.asked == [("2026-11-01", "2026-11-20")]
    assert first["charge_micro_usd"].tolist() == [1, 2]
    assert second["charge_micro_usd"].tolist() == [1, 2, 4]
    assert second.attrs["total_micro_usd"] == 7
    assert {*map(str, first.dtypes)} == {*map(str, second.dtypes)}


def test_cached_days_are_neither_shared_nor_mixed_with_another_filter() -> None:
    books = Books([charged("2026-10-05", 1), charged("2026-10-05", 2, key="key_2")])
    with spend_of(books) as spend:

        async def read() -> list[Any]:
            whole = await spend.daily("2026-10-01", "2026-10-31")
            whole["charge_micro_usd"] = 0
            of_key = await spend.daily("2026-10-01", "2026-10-31", api_key_id="key_2")
            return [of_key, await spend.daily("2026-10-01", "2026-10-31")]

        of_key, again = asyncio.run(read())
    assert of_key["charge_micro_usd"].tolist() == [2]
    assert again["charge_micro_usd"].tolist() == [1, 2]
    assert again.attrs["total_micro_usd"] == 3
    assert len(books.asked) == 2


def test_a_report_with_a_note_is_read_again() -> None:
    books = Books([charged("2026-10-05", 1)], extra={"total_micro_usd": 7})
    with spend_of(books) as spend:

        async def twice() -> Any:
            await spend.daily("2026-10-01", "2026-10-31")
            return await spend.daily("2026-10-01", "2026-10-31")

        with pytest.warns(mk.IncompleteDataWarning, match="rows sum to \\$0.000001"):
            asyncio.run(twice())
    assert len(books.asked) == 2


BY = [
    None,
    [],
    "function",
    "kind",
    "key",
    "model",
    ["key", "function"],
    ["kind", "function"],
]


# Two charges of a day may be equal in every column.
@pytest.mark.filterwarnings("ignore:.*in every column")
@settings(max_examples=trials(8, soak=100))
@given(
    rows=st.lists(
        st.tuples(
            st.integers(0, 120),
            st.integers(0, 2**60),
            st.sampled_from(PATHS),
            st.sampled_from(["key_1", "key_2"]),
        ),
        max_size=20,
    ),
    cut=st.integers(0, 120),
    by=st.sampled_from(BY),
)
def test_sums_are_the_same_however_a_range_is_read_and_summed(
    rows: list[Any], cut: int, by: Any
) -> None:
    first = date(2026, 7, 20)
    books = Books(
        [
            charged(str(first + timedelta(days=day)), amount % 10**15, path, key)
            for day, amount, path, key in rows
        ]
    )
    total = sum(row["charge_micro_usd"] for row in books.rows)
    with spend_of(books) as spend:

        async def read() -> Any:
            await spend.daily(first, first + timedelta(days=cut))
            last = first + timedelta(days=123)
            return await spend.daily(first, last, by=by)

        frame = asyncio.run(read())
    assert frame["charge_micro_usd"].dtype == "int64"
    assert int(frame["charge_micro_usd"].sum()) == total
    assert frame.attrs["total_micro_usd"] == total
    assert int(frame["jobs"].sum()) == len(rows)


# -- today ------------------------------------------------------------------------


def test_today_and_later_are_incomplete_by_the_services_clock() -> None:
    rows = [charged(f"2026-11-{day}", 1) for day in (19, 20, 21)]
    frame = daily(Books(rows), "2026-11-01", "2026-11-21", now=NOW + timedelta(days=90))
    assert frame["complete"].tolist() == [True, False, False]
    assert frame["complete"].dtype == "bool"


def test_today_is_what_was_charged_on_the_services_day() -> None:
    rows = [
        charged("2026-11-19", 1),
        charged("2026-11-20", 5),
        charged("2026-11-20", 7),
    ]
    with spend_of(Books(rows)) as spend:
        frame = asyncio.run(spend.today(by="kind"))
    assert frame["kind"].tolist() == ["text-to-video"]
    assert frame["charge_micro_usd"].tolist() == [12]
    assert frame["complete"].tolist() == [False]
    with spend_of(Books(rows[:1])) as spend:
        assert asyncio.run(spend.today()).empty


def test_months_in_the_future_are_not_read() -> None:
    books = Books([charged("2026-11-19", 1)])
    daily(books, "2026-11-19", "2027-03-01")
    assert books.asked == [("2026-11-19", "2026-11-30")]


def test_a_range_in_the_future_is_refused_by_the_services_clock() -> None:
    books = Books()
    with pytest.raises(InputError, match=r"start must be .*2026-11-20 in UTC"):
        daily(books, "2026-11-21", "2030-01-01", now=NOW + timedelta(days=3))
    with pytest.raises(InputError, match="start must be"):
        daily(books, "2999-01-01")
    assert len(books.asked) == 2  # one day each, for the service's date


def test_a_range_that_is_future_only_here_is_read() -> None:
    books = Books([charged("2026-11-20", 5)])
    frame = daily(books, "2026-11-20", now=NOW - timedelta(days=900))
    assert frame["charge_micro_usd"].tolist() == [5]


NO_DAYS = (
    *("2026-13-01", "2026-02-29", "2026-10-1", "20261001", "2026-W40-4"),
    *("2026-10-01 ", "2026-10-01T00:00:00Z", "\u0662\u0660\u0662\u0666-10-01", ""),
    *(20261001, NOW, pd.Timestamp("2026-10-01 10:30")),
)


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"start": "2026-10-02", "end": "2026-10-01"}, "end"),
        *(({"start": day, "end": "2026-10-31"}, "start") for day in NO_DAYS),
        *(({"start": "2026-10-01", "end": day}, "end") for day in NO_DAYS),
        ({"start": "0001-01-01"}, "start"),
        ({"by": "colour"}, "by"),
        ({"by": ["function", 3]}, "by"),
        ({"by": {"function"}}, "by"),
    ],
)
def test_nonsensical_arguments_are_rejected_before_anything_is_sent(
    options: dict[str, Any], field: str
) -> None:
    books = Books()
    with pytest.raises(InputError) as caught:
        daily(books, **options)
    assert caught.value.field == field
    assert "sent" not in str(caught.value)  # nobody feared that
    assert books.asked == []


def test_the_first_error_of_several_months_is_raised_as_it_is() -> None:
    class Closed(Books):
        async def daily(self, start_date: str, *args: Any, **options: Any) -> Any:
            if start_date == "2026-09-01":
                raise AuthError("Of September.")
            return await super().daily(start_date, *args, **options)

    with pytest.raises(AuthError, match="Of September"):
        daily(Closed(), "2026-06-01", "2026-10-31")


# -- names and sums ---------------------------------------------------------------


def test_a_path_that_is_not_bound_has_no_kind() -> None:
    rows = [charged("2026-11-01", 1, "other/model/f"), charged("2026-11-01", 2, R2)]
    frame = daily(Books(rows), "2026-11-01", "2026-11-02")
    assert listed(frame, "kind") == [(None,), ("r2",)]


@pytest.mark.parametrize("missing", [("model_id",), ("model_id", "model")])
def test_a_kind_is_found_by_whatever_names_the_path(missing: tuple[str, ...]) -> None:
    row = charged("2026-11-01", 1, R1)
    if "model" in missing:
        row["function"] = R1
    for name in missing:
        del row[name]
    frame = daily(Books([row]), "2026-11-01", "2026-11-02")
    assert listed(frame, "kind") == [("r1",)]


def test_our_column_names_do_not_replace_the_services_columns() -> None:
    rows = [charged("2026-11-01", 1, kind="theirs", complete="yes")]
    frame = daily(Books(rows), "2026-11-01", "2026-11-02")
    assert listed(frame, "kind_as_sent", "complete_as_sent") == [("theirs", "yes")]
    assert listed(frame, "kind", "complete") == [("text-to-video", True)]


def test_rows_are_summed_by_function_under_our_own_names() -> None:
    rows = [
        charged("2026-11-02", 1, R1, jobs=2),
        charged("2026-11-02", 2, R1, key="key_2"),
        charged("2026-11-02", 4, R2),
        charged("2026-11-01", 8, R2),
    ]
    frame = daily(Books(rows), "2026-11-01", "2026-11-02", by="function")
    assert list(frame.columns) == [
        *("day", "function", "kind", "jobs"),
        *("charge_micro_usd", "charge_usd", "complete"),
    ]
    assert days(frame) == ["2026-11-01", "2026-11-02", "2026-11-02"]
    assert listed(frame, "kind", "jobs", "charge_micro_usd") == [
        ("r2", 1, 8),
        ("r1", 3, 3),
        ("r2", 1, 4),
    ]


def test_rows_are_summed_by_key_and_model_or_only_by_day() -> None:
    rows = [charged("2026-11-02", 1), charged("2026-11-02", 2, R1, key="key_2")]
    books = Books(rows)
    frame = daily(books, "2026-11-01", "2026-11-02", by=["key", "model"])
    assert listed(frame, "api_key_id", "model", "charge_micro_usd") == [
        ("key_1", PATH.rpartition("/")[0], 1),
        ("key_2", "sandbox/r1", 2),
    ]
    alone = daily(books, "2026-11-01", "2026-11-02", by=[])
    money = ["charge_micro_usd", "charge_usd"]
    assert list(alone.columns) == ["day", "jobs", *money, "complete"]
    assert alone["charge_micro_usd"].tolist() == [3]


def test_an_unknown_charge_is_in_no_sum_and_is_not_free() -> None:
    rows = [charged("2026-11-01", None), charged("2026-11-02", 3)]
    rows += [charged("2026-11-02", None)]
    with pytest.warns(
        mk.IncompleteDataWarning, match="2 of 3 rows of the daily report have no"
    ):
        frame = daily(Books(rows), "2026-11-01", "2026-11-02", by="function")
    assert str(frame["charge_micro_usd"].dtype) == "Int64"
    assert listed(frame, "charge_micro_usd") == [(None,), (3,)]


def test_other_columns_are_kept_and_unreadable_days_keep_their_money() -> None:
    rows = [charged("2026-11-02", 3, region="eu"), charged("2026-11-1x", 4)]
    doubted = "1 of 2 values of day"
    with pytest.warns(mk.IncompleteDataWarning, match=doubted):
        frame = daily(Books(rows), "2026-11-01", "2026-11-20")
    with pytest.warns(mk.IncompleteDataWarning, match=doubted):
        by_day = daily(Books(rows), "2026-11-01", "2026-11-20", by=[])
    assert listed(frame, "region", "charge_micro_usd") == [("eu", 3), (None, 4)]
    assert sorted(by_day["charge_micro_usd"]) == [3, 4]
    assert by_day["day"].isna().sum() == 1
    assert not by_day["complete"][by_day["day"].isna()].any()


@pytest.mark.parametrize(
    ("rows_n", "words"),
    [(1, "1 row of the daily report is for a day"), (2, "2 rows .* are for days")],
)
def test_rows_outside_the_range_are_counted_and_not_included(
    rows_n: int, words: str
) -> None:
    outside = [charged("2026-10-30", 5, key=f"key_{n}") for n in range(rows_n)]
    rows = [charged("2026-11-02", 3), *outside]
    books = Books(extra={"rows": rows, "total_micro_usd": 3 + 5 * rows_n})
    match = f"{words} outside 2026-11-01 to 2026-11-05 and not included"
    with pytest.warns(mk.IncompleteDataWarning, match=match):
        frame = daily(books, "2026-11-01", "2026-11-05")
    assert frame["charge_micro_usd"].tolist() == [3]
