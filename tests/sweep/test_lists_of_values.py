"""Lists of values as users write them: pairs, repeated requests, columns of frames."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

import mediakit as mk
from mediakit import Client
from mediakit.errors import InputError
from mediakit.sweep.grid import grid_of
from tests.sweep.runs import VIDEO_3_S, run

VIDEO = mk.Catalog.default().function("text-to-video")
PAIRS = st.lists(
    st.tuples(st.sampled_from(["kite", "gull", "owl"]), st.sampled_from([3, 4])),
    min_size=1,
    max_size=6,
)


@given(PAIRS)
def test_zip_pairs_by_position_whatever_repeats(pairs: list[tuple[str, int]]) -> None:
    animals, durations = ([*each] for each in zip(*pairs, strict=True))
    axes: dict[str, Any] = {"animal": animals, "duration": durations}
    fixed = {"prompt": "a {animal}"}
    for grid in (
        grid_of(VIDEO, fixed, zipped=axes),
        grid_of(VIDEO, fixed | axes, zipped=["animal", "duration"]),
        grid_of(VIDEO, fixed, rows=pd.DataFrame(axes)),
    ):
        sent = [
            (point.fields["prompt"], point.fields["duration"]) for point in grid.points
        ]
        assert sent == [(f"a {animal}", duration) for animal, duration in pairs]


def test_a_repeated_request_is_priced_paid_and_counted_once(client: Client) -> None:
    prompts = ["a bell", "a drum", "a bell"]
    plans = {
        "rows": client.sweep(
            "text-to-video", rows=pd.DataFrame({"prompt": prompts}), duration=3
        ),
        "zip": client.sweep(
            "text-to-video", zip={"prompt": prompts, "duration": [3, 3, 3]}
        ),
        "slots": client.sweep(
            "text-to-video",
            prompt="{what}",
            zip={"what": prompts, "duration": [3, 3, 3]},
        ),
    }
    for plan in plans.values():
        assert plan.estimate().high == 2 * VIDEO_3_S
        frame = plan.frame()
        assert frame["problem"].notna().tolist() == [False, False, True]
        assert "duplicate of cell 0" in frame["problem"].iloc[2]
    plain = client.sweep("text-to-video", prompt=prompts, duration=[3, np.int64(3)])
    assert plain.estimate().high == 2 * VIDEO_3_S

    before = client.balance().balance_micro_usd
    results = run(client, plans["rows"])
    charged = before - client.balance().balance_micro_usd
    by_prompt = results.frame().groupby("prompt", observed=True)["charge_micro_usd"]
    assert charged == 2 * VIDEO_3_S == results.frame()["charge_micro_usd"].sum()
    assert by_prompt.sum().to_dict() == {"a bell": VIDEO_3_S, "a drum": VIDEO_3_S}
    assert results.progress.spent_micro_usd == charged


def test_a_plan_with_many_repeated_rows_stays_short(client: Client) -> None:
    prompts = [f"prompt {number}" for number in range(20)]
    plan = client.sweep("text-to-video", rows=[{"prompt": p} for p in prompts * 2])
    assert plan.valid.sum() == 20
    assert len(repr(plan).splitlines()) < 15
    assert "and 12 more reasons" in repr(plan)


class Column:
    """A column of another frame library, which has a list and a length."""

    def __init__(self, *values: object) -> None:
        self._values = values

    def __len__(self) -> int:
        return len(self._values)

    def to_list(self) -> list[object]:
        return [*self._values]


class Table:
    """A frame of another library, which has rows as dicts."""

    columns = ("prompt", "duration")

    def to_dicts(self) -> list[dict[str, object]]:
        return [{"prompt": "a kite", "duration": 3.0}, {"prompt": "a gull"}]


TEXTS = ["a kite", "a gull"]
COLUMNS: list[Any] = [
    pd.Series(TEXTS),
    pd.Series(TEXTS, dtype="object"),
    pd.Series(TEXTS, dtype="category"),
    pd.Series(TEXTS, dtype="string"),
    pd.Index(TEXTS),
    pd.Categorical(TEXTS),
    pd.array(TEXTS, dtype="string"),
    np.array(TEXTS),
    Column(*TEXTS),
    deque(TEXTS),
    dict.fromkeys(TEXTS).keys(),
]


@pytest.mark.parametrize("prompts", COLUMNS, ids=lambda each: type(each).__name__)
def test_a_column_is_an_axis_like_a_list(client: Client, prompts: Any) -> None:
    plan = client.sweep("text-to-video", prompt=prompts, duration=3)
    plain = client.sweep("text-to-video", prompt=TEXTS, duration=3)
    assert plan.frame()["prompt"].tolist() == TEXTS
    assert (plan.id, plan.code) == (plain.id, plain.code)


@pytest.mark.parametrize(
    "durations",
    [
        pd.Series([3, None, 4]),
        pd.Series([3, None, 4], dtype="Int64"),
        pd.Series([3, None, 4], dtype="object"),
        pd.Index([3, np.nan, 4]),
        Column(3.0, None, 4.0),
    ],
    ids=lambda each: f"{type(each).__name__} {getattr(each, 'dtype', '')}",
)
def test_a_column_with_an_empty_place_has_whole_numbers(
    client: Client, durations: Any
) -> None:
    plan = client.sweep("text-to-video", prompt="a kite", duration=durations)
    assert plan.valid.all()
    sent = [cell.fields["duration"] for cell in plan.cells]
    assert sent == [3, None, 4]
    assert {type(each) for each in sent} == {int, type(None)}
    again: dict[str, Any] = {"client": client}
    exec(plan.code, again)
    assert again["plan"].id == plan.id


ROWS = pd.DataFrame({"prompt": ["kite", "gull", "heron"], "duration": [3, None, 5]})


@pytest.mark.parametrize("rows", [ROWS, ROWS.to_dict("records")], ids=["frame", "list"])
def test_rows_of_a_frame_with_an_empty_cell_are_valid(
    client: Client, rows: Any
) -> None:
    plan = client.sweep("text-to-video", rows=rows)
    assert plan.valid.all()
    assert [cell.fields["duration"] for cell in plan.cells] == [3, None, 5]
    again: dict[str, Any] = {"client": client}
    exec(plan.code, again)
    assert again["plan"].id == plan.id


def test_a_slot_and_a_fraction_keep_what_a_column_says(client: Client) -> None:
    frame = pd.DataFrame({"n": [2, 3, np.nan], "sharpen": [0.5, 1.0, np.nan]})
    plan = client.sweep("text-to-video", prompt="{n} kites", n=frame["n"].dropna())
    assert [cell.fields["prompt"] for cell in plan.cells] == ["2 kites", "3 kites"]
    plan = client.sweep(
        "image-upscale", image_url="https://a.test/1.png", sharpen=frame["sharpen"]
    )
    assert plan.frame()["valid"].all()
    assert [cell.fields["sharpen"] for cell in plan.cells] == [0.5, 1.0, None]


def test_the_rows_of_another_frame_library_are_rows(client: Client) -> None:
    plan = client.sweep("text-to-video", rows=Table())
    assert [cell.fields["duration"] for cell in plan.cells] == [3, None]


def test_a_whole_float_outside_a_table_is_not_accepted_as_an_integer(
    client: Client,
) -> None:
    plan = client.sweep("text-to-video", prompt="a kite", duration=[3, 4.0])
    assert "must be a whole number" in str(plan.cells[1].problem)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"prompt": (text for text in TEXTS)}, r"prompt .*a list.*list\(prompt\)"),
        ({"prompt": ROWS}, r"prompt must be a column of it, or .* rows="),
        ({"rows": ROWS["prompt"]}, r"rows must be a frame.*got a Series"),
        ({"rows": ROWS.iloc[0]}, r"rows must be a frame.*got a Series"),
        ({"zip": {"prompt": map(str, TEXTS)}}, r"prompt .*a list"),
    ],
    ids=["generator", "frame", "column as rows", "one row", "iterator in zip"],
)
def test_an_invalid_axis_is_rejected_with_a_readable_message(
    client: Client, arguments: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(InputError, match=sentence):
        client.sweep("text-to-video", **arguments)


def test_a_row_of_a_frame_is_submitted_as_it_was_written(client: Client) -> None:
    plain = client.submit("text-to-video", prompt="kite", duration=3)
    assert client.submit("text-to-video", **ROWS.iloc[0]).id == plain.id
    unset = client.submit("text-to-video", prompt="gull")
    assert client.submit("text-to-video", **ROWS.iloc[1]).id == unset.id
    nullable = ROWS.astype({"duration": "Int64"})
    assert client.submit("text-to-video", **nullable.iloc[1]).id == unset.id
    with pytest.raises(InputError, match="must be a whole number"):
        client.submit("text-to-video", prompt="kite", duration=3.0)
    with pytest.raises(InputError, match="duration"):
        client.submit("text-to-video", prompt="kite", duration=float("nan"))


def test_a_column_of_references_is_a_list_of_them(client: Client) -> None:
    urls = ["https://a.test/1.png", "https://a.test/2.png"]
    frame = pd.DataFrame({"url": urls})
    columns: list[Any] = [
        frame["url"],
        frame["url"].to_numpy(),
        np.array(urls),
        frame["url"].astype("category"),
        pd.Index(urls),
        pd.Categorical(urls),
        Column(*urls),
    ]
    for given_urls in columns:
        fields: dict[str, Any] = {
            "prompt": "@Image1 meets @Image2",
            "reference_image_urls": urls,
        }
        plain = client.sweep("r3", **fields)
        plan = client.sweep("r3", **fields | {"reference_image_urls": given_urls})
        assert plan.valid.all()
        assert (plan.id, plan.code) == (plain.id, plain.code)
    picture = np.asarray(Image.new("RGB", (320, 320)))
    one = client.sweep("image-upscale", image_url=picture)
    assert len(one) == 1


@pytest.mark.parametrize(
    "axes",
    [
        {"prompt": ["a {s} v1", "a {s} v2"], "s": ["cup", "box", "car", "cat"]},
        {"s": ["cup", "box", "car", "cat"], "prompt": ["a {s} v1", "a {s} v2"]},
        {
            "prompt": "a {s} in {style}",
            "style": ["ink", "oil"],
            "s": ["cup", "box", "car", "cat"],
        },
        {
            "resolution": ["720p", "1080p"],
            "prompt": ["a cup", "a box", "a car", "a cat"],
        },
    ],
    ids=["versions first", "shots first", "two slots", "no slots"],
)
def test_a_budget_below_the_price_buys_whole_pairs(
    client: Client, axes: dict[str, Any]
) -> None:
    versions, unit = (
        ("resolution", "prompt")
        if "resolution" in axes
        else ("style" if "style" in axes else "prompt", "s")
    )
    plan = client.sweep("text-to-video", duration=3, aspect_ratio="1:1", **axes)
    assert f"sent one {unit} at a time" in repr(plan)
    half = (plan.estimate().high or 0) // 2 + 10_000
    results = run(client, plan, budget=f"${half / 1e6:.6f}", in_flight=1)
    frame = results.frame()
    sent = frame[frame["job_id"].notna()]
    assert len(sent) == 4
    assert sent.groupby(unit, observed=True).size().tolist() == [2, 2]
    for number, job_id in enumerate(sent["job_id"]):
        results.rate(job_id, 3 + number % 2)
    assert results.compare(versions).frame["pairs"].tolist() == [2]


def test_a_sample_is_of_whole_pairs(client: Client) -> None:
    shots = [f"thing {n}" for n in range(20)]
    for axes in (
        {"prompt": ["{s} v1", "{s} v2"], "s": shots},
        {"s": shots, "prompt": ["{s} v1", "{s} v2"]},
        {"prompt": ["{s} v1", "{s} v2"], "s": shots, "duration": [3, 4, 5]},
    ):
        given: dict[str, Any] = dict(axes)
        frame = client.sweep("text-to-video", sample=20, **given).frame()
        assert len(frame) == 20
        rest = [name for name in axes if name != "prompt"]
        sizes = frame.groupby(rest, observed=True).size()
        assert (sizes == 2).all()
    odd = client.sweep(
        "text-to-video", prompt=["{s} v1", "{s} v2"], s=shots, sample=(7, 3)
    )
    assert sorted(odd.frame().groupby("s", observed=True).size()) == [1, 2, 2, 2]


def test_a_failed_cell_costs_nothing_and_is_settled(client: Client) -> None:
    prompts = ["a lamp", "a lamp sandbox:fail=content_moderation"]
    results = run(client, client.sweep("text-to-video", prompt=prompts, duration=3))
    for each in (results, client.sweep_results(results.id)):
        assert each.frame()["charge_micro_usd"].tolist() == [VIDEO_3_S, 0]
        assert each.cost_of_keeper()["unsettled"].tolist() == [0]


def test_a_list_with_a_name_similar_to_a_slot_suggests_the_slot() -> None:
    fixed: dict[str, Any] = {"prompt": "a {animal} over dunes"}
    with pytest.raises(InputError, match=r"animals .*did you mean \{animal\}\?"):
        grid_of(VIDEO, fixed | {"animals": ["fox"]})
    with pytest.raises(InputError, match="zebra is not a known field"):
        grid_of(VIDEO, fixed | {"zebra": ["fox"]})
