import csv
import io

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mediakit.errors import ServiceError
from mediakit.spend import csv_frame, daily_frame, monthly_frame
from tests.support.frames import types
from tests.support.soak import trials

KIND = "text-to-video"


def row(day="2026-10-01", charge_micro_usd=1_020_000, **fields):
    return {
        "date": day,
        "api_key_id": "key_1",
        "model": f"sandbox/{KIND}",
        "function": KIND,
        "model_id": f"sandbox/{KIND}/{KIND}",
        "jobs": 3,
        "charge_micro_usd": charge_micro_usd,
        **fields,
    }


def daily(*rows, total_micro_usd=None):
    total = sum(row["charge_micro_usd"] for row in rows)
    return {
        "start_date": "2026-10-01",
        "end_date": "2026-10-31",
        "rows": list(rows),
        "total_micro_usd": total if total_micro_usd is None else total_micro_usd,
    }


# -- days -------------------------------------------------------------------------

DAILY_TYPES = {
    "day": "datetime64[us]",
    "api_key_id": "str",
    "model": "str",
    "function": "str",
    "jobs": "Int64",
    "charge_micro_usd": "int64",
}


@pytest.mark.spec("4.19")
def test_daily_rows_become_typed_rows_in_their_order():
    frame = daily_frame(daily(row("2026-10-02"), row("2026-10-01", 7)))
    assert types(frame) == {**DAILY_TYPES, "model_id": "str"}
    assert frame["day"].tolist() == [
        pd.Timestamp("2026-10-02"),
        pd.Timestamp("2026-10-01"),
    ]
    assert frame["charge_micro_usd"].tolist() == [1_020_000, 7]
    assert frame["function"].tolist() == [f"sandbox/{KIND}/{KIND}"] * 2
    assert frame.attrs["total_micro_usd"] == 1_020_007
    assert frame.attrs["report"]["start_date"] == "2026-10-01"


@pytest.mark.parametrize(
    ("names", "path"),
    [
        ({"model": "acme/dream-1", "function": "video"}, "acme/dream-1/video"),
        ({"model": "acme/dream-2", "function": "video"}, "acme/dream-2/video"),
        ({"model": "acme/dream-1/video", "function": "video"}, "acme/dream-1/video"),
        ({"model": "acme/dream-1/video", "function": None}, "acme/dream-1/video"),
        ({"model": "acme/dream-1/video", "function": "sound"}, "sound"),
        ({"model_id": "acme/dream-1/video", "function": "video"}, "acme/dream-1/video"),
        ({"model": "acme/dream-1", "function": "acme/x/video"}, "acme/x/video"),
        ({"model": "dream", "function": "video"}, "video"),
        ({"model": "acme/dream-1", "function": None}, None),
    ],
)
def test_functions_of_one_name_are_told_apart_by_their_whole_paths(names, path):
    sent = {"model": None, "model_id": None} | names
    (function,) = daily_frame(daily(row(**sent)))["function"].tolist()
    assert function == path or (path is None and pd.isna(function))


@pytest.mark.parametrize(
    "written",
    [
        "2026-10-01",
        "2026-10-01T00:00:00Z",
        "2026-10-01T00:00:00+14:00",
        "2026-10-01T23:59:59-08:00",
    ],
)
def test_a_day_is_the_day_that_is_written_whatever_its_offset(written):
    frame = daily_frame([row(written)])
    assert frame["day"].tolist() == [pd.Timestamp("2026-10-01")]


@given(charges=st.lists(st.integers(0, 2**58), max_size=30))
def test_sums_are_exact_integers(charges):
    frame = daily_frame(daily(*(row(charge_micro_usd=charge) for charge in charges)))
    assert frame["charge_micro_usd"].dtype == "int64"
    assert int(frame["charge_micro_usd"].sum()) == sum(charges)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner)
    ),
    max_leaves=4,
)
NAMES = st.sampled_from(
    ["api_key_id", "model", "function", "jobs", "charge_micro_usd", "usage", "region"]
)


@settings(max_examples=trials(8, soak=100))
@given(rows=st.lists(st.dictionaries(NAMES, JSON, max_size=5), max_size=6))
def test_no_row_is_dropped_in_silence_and_nothing_crashes_whatever_fields_hold(rows):
    frame = daily_frame({"rows": [row(), *(row() | each for each in rows)]})
    is_said = any("left out" in text for text in frame.attrs["doubts"])
    assert len(frame) == 1 + len(rows) or is_said
    assert set(DAILY_TYPES) <= set(frame.columns)


def test_unknown_columns_are_kept_with_their_types():
    frame = daily_frame(
        [
            row(region="eu", seconds=4.5, rush=True, seats=2, tags=["a"]),
            row(region=None, seconds=5, rush=None, seats=None, tags=None),
        ]
    )
    kinds = types(frame)
    assert kinds["region"] == "str"
    assert kinds["seconds"] == "float64"
    assert kinds["rush"] == "boolean"
    assert kinds["seats"] == "Int64"
    assert frame["tags"].tolist() == [["a"], None]


@pytest.mark.parametrize("charge", ["1020000", 1_020_000.0, "+1020000"])
def test_a_whole_number_in_another_dress_is_read_exactly(charge):
    frame = daily_frame([row(charge_micro_usd=charge)])
    assert frame["charge_micro_usd"].tolist() == [1_020_000]


@pytest.mark.parametrize("charge", [True, 1.5, "1.02", "free", 2**63, [1], ""])
def test_a_charge_that_cannot_be_read_is_missing_and_kept_as_it_was_sent(charge):
    frame = daily_frame([row(), row(charge_micro_usd=charge)])
    assert frame["charge_micro_usd"].isna().tolist() == [False, True]
    assert frame["charge_micro_usd_as_sent"].tolist() == [1_020_000, charge]
    assert frame.attrs["unread"] == [
        "1 of 2 rows of the daily report has no charge and is not included in any sum."
    ]


def test_a_day_that_cannot_be_read_is_missing_and_kept_as_it_was_sent():
    frame = daily_frame([row("yesterday"), row("2026-13-01"), row()])
    assert frame["day"].isna().tolist() == [True, True, False]
    assert frame["day_as_sent"].tolist()[0] == "yesterday"
    assert "2 of 3 values of day could not be read" in frame.attrs["doubts"][0]


def test_an_amount_that_is_not_called_a_charge_is_not_taken_for_one():
    words = (
        r"no list with charge_micro_usd \(.*add \[reports\] to mediakit.toml\)\. Read"
    )
    with pytest.raises(ServiceError, match=words):
        daily_frame([{"day": "2026-10-01", "model": "a", "amount_micro_usd": 5}])


@pytest.mark.parametrize("missing", ["day", "model"])
def test_rows_without_a_day_or_a_function_are_not_read(missing):
    names = {"day": "2026-10-01", "model": "a", "charge_micro_usd": 5}
    del names[missing]
    with pytest.raises(ServiceError, match=f"it has no .*{missing}"):
        daily_frame([names])


@pytest.mark.parametrize(
    "wrap",
    [
        lambda rows: rows,
        lambda rows: {"rows": rows},
        lambda rows: {"spend": rows},
        lambda rows: {"data": {"items": rows, "next": None}},
        lambda rows: {"models": ["a", "b"], "days": rows, "invoices": []},
    ],
)
def test_rows_are_found_wherever_they_are(wrap):
    frame = daily_frame(wrap([row(), row()]))
    assert int(frame["charge_micro_usd"].sum()) == 2_040_000
    assert "section" not in frame


def test_fields_around_the_rows_are_kept_in_the_report():
    body = {"data": {"items": [row()], "total_micro_usd": 1_020_000}, "currency": "USD"}
    frame = daily_frame(body)
    assert frame.attrs["total_micro_usd"] == 1_020_000
    assert frame.attrs["report"]["currency"] == "USD"


def test_several_lists_of_charges_are_not_added_up():
    with pytest.raises(ServiceError, match="2 lists with charge_micro_usd"):
        daily_frame({"usage": [row()], "credits": [row(charge_micro_usd=-5)]})


@pytest.mark.parametrize("name", ["invoices", "credits_applied", "top_ups"])
def test_a_list_without_usage_is_not_read(name):
    frame = daily_frame({"usage": [row()], name: [row(charge_micro_usd=-5)]})
    assert frame["charge_micro_usd"].tolist() == [1_020_000]
    with pytest.raises(ServiceError, match="no list"):
        daily_frame({name: []})


@pytest.mark.spec("4.19")
def test_grouped_rows_are_opened_to_the_finest_that_name_money():
    body = [
        {
            "api_key_id": "key_1",
            "charge_micro_usd": 30,
            "models": [
                {
                    "model": "a",
                    "days": [{"date": "2026-10-01", "charge_micro_usd": 10}],
                },
                {
                    "model": "b",
                    "days": [{"date": "2026-10-02", "charge_micro_usd": 20}],
                },
            ],
        }
    ]
    frame = daily_frame(body)
    assert frame["charge_micro_usd"].tolist() == [10, 20]
    assert frame["api_key_id"].tolist() == ["key_1", "key_1"]
    assert frame["model"].tolist() == ["a", "b"]
    assert frame["day"].dt.day.tolist() == [1, 2]


def test_items_that_are_no_records_are_kept_as_values():
    frame = daily_frame({"rows": [row(), 7, {}]})
    assert frame["value"].tolist()[1:] == [7, {}]


def test_numbers_and_lists_as_names_are_texts():
    rows = [row(model=model) for model in (1, "1", ["a"], None)]
    models = daily_frame(rows)["model"]
    assert models.tolist()[:3] == ["1", "1", "['a']"]
    assert models.isna().tolist() == [False] * 3 + [True]


@pytest.mark.parametrize("body", [None, "spend", 7, {}, {"rows": 3}, ["a"]])
def test_a_body_without_a_list_of_rows_is_a_readable_error(body):
    with pytest.raises(ServiceError, match="could not be read: it has no list"):
        daily_frame(body)


# -- months -----------------------------------------------------------------------


def month_row(charge_micro_usd=1_020_000, usage=None):
    return {
        "model": f"sandbox/{KIND}",
        "function": KIND,
        "model_id": f"sandbox/{KIND}/{KIND}",
        "jobs": 3,
        "usage": usage,
        "charge_micro_usd": charge_micro_usd,
        "credits_applied_micro_usd": 0,
    }


def monthly(*rows):
    return {
        "month": "2026-10",
        "rows": list(rows),
        "total_micro_usd": sum(row["charge_micro_usd"] for row in rows),
        "credits_applied_micro_usd": 0,
        "invoices": [],
    }


MONTHLY_TYPES = {
    "month": "str",
    "model_id": "str",
    "model": "str",
    "function": "str",
    "jobs": "Int64",
    "charge_micro_usd": "int64",
    "credits_applied_micro_usd": "int64",
}


@pytest.mark.spec("4.19")
def test_a_month_has_a_typed_row_per_model_and_a_column_per_unit_of_usage():
    body = monthly(month_row(usage={"output_seconds": 15.5}), month_row(5))
    del body["rows"][1]["usage"]
    frame = monthly_frame(body, "2026-10")
    assert types(frame) == {**MONTHLY_TYPES, "usage_output_seconds": "float64"}
    assert frame["month"].tolist() == ["2026-10", "2026-10"]
    assert frame["usage_output_seconds"].isna().tolist() == [False, True]
    assert frame.attrs["total_micro_usd"] == 1_020_005
    assert frame.attrs["report"]["invoices"] == []


def test_a_report_of_another_month_is_noted():
    frame = monthly_frame(monthly(month_row()), "2026-09")
    assert frame.attrs["doubts"] == [
        "Asked for 2026-09, but the report says '2026-10'."
    ]


# -- the CSV ----------------------------------------------------------------------

HEADER = "model_id,model,function,jobs,charge_micro_usd,credits_applied_micro_usd"
CSV_TYPES = {name: kind for name, kind in MONTHLY_TYPES.items() if name != "month"}


def month_csv(*rows, total):
    lines = [HEADER, *(f"s/{KIND}/{KIND},s/{KIND},{KIND},{r}" for r in rows), total]
    return "\r\n".join(lines) + "\r\n"


@pytest.mark.spec("4.19")
def test_the_totals_row_of_the_csv_is_no_row_of_the_frame():
    frame = csv_frame(month_csv("3,1020000,0", "1,5,0", total="total,,,4,1020005,0"))
    assert types(frame) == CSV_TYPES
    assert frame["charge_micro_usd"].tolist() == [1_020_000, 5]
    assert frame["jobs"].tolist() == [3, 1]
    assert frame.attrs["total_micro_usd"] == 1_020_005


def test_a_totals_row_that_differs_from_the_rows_is_noted_and_not_a_crash():
    frame = csv_frame(month_csv("3,1020000,0", total="TOTAL,,,4,2000000,0"))
    assert frame.attrs["total_micro_usd"] == 2_000_000
    assert frame.attrs["doubts"] == [
        "The total of jobs is 4, but its rows sum to 3.",
        "The total of charge_micro_usd is $2.00, but its rows sum to $1.02.",
    ]


@pytest.mark.parametrize("text", ["", "Model,Cost (USD)\na,5\n", "model;charge\n"])
def test_a_csv_without_the_columns_of_charges_and_models_is_not_read(text):
    with pytest.raises(ServiceError, match=r"CSV could not be read: it has no charge_"):
        csv_frame(text)


def test_a_csv_without_a_totals_row_has_no_total():
    frame = csv_frame(HEADER + "\n")
    assert types(frame) == CSV_TYPES
    assert frame.attrs["total_micro_usd"] is None


def test_unknown_columns_quotes_and_a_byte_order_mark_are_read():
    frame = csv_frame(
        "\ufeffmodel_id,charge_micro_usd,label,zip,seats\n"
        '"a, the ""first""",5,hello,007,1\n'
        "b,6,,008,\n"
        "total,11,,,\n"
    )
    assert frame["model_id"].tolist() == ['a, the "first"', "b"]
    assert frame["zip"].tolist() == ["007", "008"]
    assert types(frame)["seats"] == "Int64"
    assert frame["label"].isna().tolist() == [False, True]


def test_a_response_that_is_not_csv_is_a_readable_error():
    with pytest.raises(ServiceError, match="month's CSV is not a CSV"):
        csv_frame("model_id\n" + "x" * 200_000)


@given(
    rows=st.lists(
        st.tuples(
            st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1),
            st.integers(0, 10**6),
            st.integers(0, 10**15),
        ),
        max_size=12,
    )
)
def test_a_csv_gives_back_every_row_and_the_exact_sum(rows):
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    writer.writerow(["model_id", "jobs", "charge_micro_usd"])
    writer.writerows((f"m/{name}", jobs, charge) for name, jobs, charge in rows)
    jobs, charged = sum(r[1] for r in rows), sum(r[2] for r in rows)
    writer.writerow(["total", jobs, charged])
    frame = csv_frame(buffer.getvalue())
    assert frame["charge_micro_usd"].tolist() == [charge for _, _, charge in rows]
    assert frame.attrs["total_micro_usd"] == int(frame["charge_micro_usd"].sum())
