"""A plan: its cells, prices and reasons, before anything is sent."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path
from typing import Any

import httpx
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import mediakit as mk
from mediakit import Client
from mediakit.errors import InputError
from tests.support.advancing_clock import AdvancingClock
from tests.support.rows import assert_each
from tests.support.samples.media_samples import make_picture, make_png
from tests.support.soak import trials

CATALOG = mk.Catalog.default()
PROMPTS = ["a kite over dunes", "a gull over the sea", "a paper plane indoors"]


def test_lists_are_axes_and_everything_else_is_fixed(client: Client) -> None:
    plan = client.sweep(
        "text-to-video", prompt=PROMPTS, resolution=["720p", "1080p"], duration=3
    )
    assert len(plan) == 6
    frame = plan.frame()
    assert list(frame)[:7] == [
        "prompt",
        "resolution",
        "take",
        "valid",
        "problem",
        "owned",
        "low_micro_usd",
    ]
    assert frame.groupby("resolution", observed=True).low_micro_usd.sum().to_dict() == {
        "720p": 3 * 3 * 68_000,
        "1080p": 3 * 3 * 90_000,
    }
    assert {cell.fields["duration"] for cell in plan.cells} == {3}


def test_the_plan_costs_what_its_cells_cost_one_by_one(client: Client) -> None:
    axes: dict[str, Any] = {"resolution": ["720p", "4k"], "audio": ["native", "off"]}
    plan = client.sweep("text-to-video", prompt="a kite", duration=[3, 4, 15], **axes)
    singly = [mk.estimate("text-to-video", cell.fields).high for cell in plan.cells]
    assert plan.frame().high_micro_usd.tolist() == singly
    assert plan.estimate().low == plan.estimate().high == sum(filter(None, singly))
    assert plan.estimate().kind == "exact"


def test_a_template_is_filled_with_each_combination_of_its_slots(
    client: Client,
) -> None:
    plan = client.sweep(
        "text-to-video",
        prompt="a {animal} over {place}, {{really}} at {resolution}",
        animal=["kite", "gull"],
        place=["dunes", "the sea"],
        resolution="720p",
    )
    assert [cell.fields["prompt"] for cell in plan.cells] == [
        "a kite over dunes, {really} at 720p",
        "a kite over the sea, {really} at 720p",
        "a gull over dunes, {really} at 720p",
        "a gull over the sea, {really} at 720p",
    ]
    assert set(plan.cells[0].fields) == {"prompt", "resolution"}
    assert list(plan.frame())[:3] == ["animal", "place", "take"]


def test_a_template_that_ignores_a_slot_does_not_pay_for_the_same_twice(
    client: Client,
) -> None:
    plan = client.sweep(
        "text-to-video",
        prompt=["a {animal}", "an empty beach"],
        animal=["kite", "gull"],
    )
    assert plan.valid.sum() == 3
    assert "duplicate of cell 2" in str(plan.cells[3].problem)


def test_zipped_axes_vary_together_and_rows_are_taken_as_they_are(
    client: Client,
) -> None:
    zipped = client.sweep(
        "text-to-video",
        prompt=PROMPTS,
        duration=[3, 4, 5],
        zip=("prompt", "duration"),
        resolution=["720p", "1080p"],
    )
    assert len(zipped) == 6
    rows = pd.DataFrame({"prompt": PROMPTS, "duration": [3, 4, None]})
    plan = client.sweep("text-to-video", rows=rows.astype({"duration": "Int64"}))
    assert [plan.cells[cell].fields.get("duration") for cell in range(3)] == [
        3,
        4,
        None,
    ]
    assert plan.valid.all()


def test_numbers_and_truths_that_vary_stay_numbers_and_truths(client: Client) -> None:
    plan = client.sweep(
        "image-upscale",
        image_url="https://a.test/1.png",
        sharpen=[0, 0.5],
        face_enhancement=[True, False],
        upscale_factor=["x2", "x4"],
    )
    frame = plan.frame()

    assert frame.groupby("face_enhancement")["sharpen"].mean().tolist() == [0.25, 0.25]
    assert [str(frame[name].dtype) for name in plan.axes] == [
        "float64",
        "bool",
        "category",
    ]


def test_a_sample_is_the_same_in_every_kernel(client: Client) -> None:
    axes: dict[str, Any] = {"prompt": PROMPTS, "duration": list(range(3, 16))}
    plans = [client.sweep("text-to-video", sample=(10, 7), **axes) for _ in range(2)]
    frames = [plan.frame() for plan in plans]
    assert len(frames[0]) == 10
    pd.testing.assert_frame_equal(frames[0], frames[1])
    other = client.sweep("text-to-video", sample=(10, 8), **axes).frame()
    assert not other.equals(frames[0])


def test_an_invalid_value_makes_invalid_cells_with_their_reason(
    client: Client,
) -> None:
    plan = client.sweep("text-to-video", prompt=PROMPTS, duration=[3, 99, 5])
    frame = plan.frame()
    assert frame.valid.sum() == 6
    assert set(frame.duration[~frame.valid]) == {99}
    assert frame.problem[~frame.valid].str.contains("99").all()
    assert frame.problem[frame.valid].isna().all()
    assert plan.estimate().high == 3 * (3 + 5) * 68_000


def test_a_rule_between_two_axes_marks_only_the_cells_that_break_it(
    client: Client,
) -> None:
    plan = client.sweep(
        "r1",
        prompt=PROMPTS[0],
        duration=[5, 10, "auto"],
        omni_reference_task_type=["auto", "edit", "extend"],
        draft=[True, False],
    )
    function = client.catalog.function("r1")
    wrong = [bool(function.check(cell.fields)) for cell in plan.cells]
    assert wrong == (~plan.valid).tolist()
    assert 0 < sum(wrong) < len(plan)


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    max_examples=trials(15, soak=25),
)
@given(data=st.data())
def test_cells_are_valid_exactly_when_the_function_accepts_them(
    client: Client, data: st.DataObject
) -> None:
    easy = {"prompt", "duration"}
    closed = [
        f
        for f in client.catalog
        if not f.is_open
        and {name for name, spec in f.fields.items() if spec.required} <= easy
    ]
    function = data.draw(st.sampled_from(sorted(closed, key=lambda f: f.kind)))
    axes: dict[str, Any] = {}
    for name, spec in function.fields.items():
        if spec.kind == "choice" and data.draw(st.booleans()):
            axes[name] = [*spec.choices, "nonsense"]
        elif spec.kind == "integer" and data.draw(st.booleans()):
            axes[name] = [3, 5, 10_000, "five"]
    axes = {"duration": [5, 99], **dict(list(axes.items())[:4])}
    axes = {name: axis for name, axis in axes.items() if name in function.fields}
    try:
        plan = client.sweep(function.path, prompt=PROMPTS[:2], **axes)
    except InputError:
        return
    for cell in range(0, len(plan), max(1, len(plan) // 50)):
        wrong = function.check(plan.cells[cell].fields)
        assert bool(wrong) == (plan.cells[cell].problem is not None), plan.cells[
            cell
        ].fields


def test_cells_that_were_submitted_singly_are_owned_and_free(client: Client) -> None:
    client.submit("text-to-video", prompt=PROMPTS[0], duration=3)
    client.submit("text-to-video", prompt=PROMPTS[0], duration=3, take=2)
    plan = client.sweep("text-to-video", prompt=PROMPTS[:2], duration=[3, 4], takes=2)
    frame = plan.frame()
    assert frame[frame.owned][["prompt", "duration", "take"]].values.tolist() == [
        [PROMPTS[0], 3, 1],
        [PROMPTS[0], 3, 2],
    ]
    new = frame[~frame.owned]
    assert plan.estimate().high == new.high_micro_usd.sum()
    assert "2 owned, 6 new" in repr(plan)


def test_a_take_with_a_seed_is_owned_once_that_seed_was_submitted(
    client: Client,
) -> None:
    client.submit("r5", prompt=PROMPTS[1], seed=2)
    plan = client.sweep("r5", prompt=PROMPTS[:2], takes=3)
    assert plan.owned.tolist() == [False, False, False, True, False, False]


@pytest.mark.parametrize(
    "given",
    [
        {"light": ["dusk", None]},
        {"light": ["dusk", float("nan")]},
        {"light": None},
        {"rows": pd.DataFrame({"light": ["dusk", None]})},
        {"light": pd.Series(["dusk", pd.NA])},
    ],
)
def test_a_slot_without_a_value_is_refused_before_it_becomes_a_word(
    client: Client, given: dict[str, Any]
) -> None:
    with pytest.raises(InputError, match=r"light must be set in every row.*\{light"):
        client.sweep("text-to-video", prompt="a kite at {light}", **given)


def test_an_empty_text_is_a_value_like_any_other(client: Client) -> None:
    client.submit("text-to-image", prompt="")
    plan = client.sweep("text-to-image", prompt=["", PROMPTS[0]])
    assert plan.owned.tolist() == [True, False]


def test_displaying_a_plan_again_finds_later_submissions(client: Client) -> None:
    client.submit("text-to-video", prompt=PROMPTS[0], duration=3)
    plan = client.sweep("text-to-video", prompt=PROMPTS[:2], duration=3, takes=2)
    assert plan.owned.tolist() == [True, False, False, False]
    client.submit("text-to-video", prompt=PROMPTS[0], duration=3, take=2)
    assert plan.refresh().owned.tolist() == [True, False, True, False]
    client.submit("text-to-video", prompt=PROMPTS[1], duration=3)
    assert plan.refresh().owned.tolist() == [True, True, True, False]


def test_the_order_of_axes_changes_neither_the_cells_nor_the_sweep(
    client: Client,
) -> None:
    axes: dict[str, Any] = {
        "prompt": PROMPTS,
        "resolution": ["720p", "1080p"],
        "duration": [3, 5],
    }
    plans = [
        client.sweep("text-to-video", **{name: axes[name] for name in order})
        for order in permutations(axes)
    ]
    keys = [{cell.key for cell in plan.cells} for plan in plans]
    assert all(each == keys[0] for each in keys)
    assert len({plan.id for plan in plans}) == 1


def test_cells_share_a_seed_across_an_axis_and_each_take_has_its_own(
    client: Client,
) -> None:
    plan = client.sweep("r5", prompt=PROMPTS[:2], takes=3)
    assert [cell.fields["seed"] for cell in plan.cells] == [1, 1, 2, 2, 3, 3]
    assert {cell.sent_take for cell in plan.cells} == {1}
    given_seed = client.sweep("r5", prompt=PROMPTS[:2], takes=2, seed=40)
    assert [given_seed.cells[cell].fields["seed"] for cell in range(4)] == [
        40,
        40,
        41,
        41,
    ]
    axis = client.sweep("r5", prompt=PROMPTS[0], takes=2, seed=[7, 8])
    assert [cell.fields["seed"] for cell in axis.cells] == [7, 8, 7, 8]
    assert [cell.sent_take for cell in axis.cells] == [1, 1, 2, 2]


def test_a_local_file_is_owned_once_it_was_uploaded_and_submitted(
    client: Client, tmp_path: Path
) -> None:
    pictures = [make_png(tmp_path / f"{n}.png", (64 + n, 64)) for n in range(2)]
    client.submit("image-upscale", image_url=pictures[0], upscale_factor="x2")
    plan = client.sweep(
        "image-upscale", image_url=pictures, upscale_factor=["x2", "x4"]
    )
    assert plan.frame().owned.tolist() == [True, False, False, False]


NO_SENSE: list[tuple[dict[str, Any], str]] = [
    ({"prompt": PROMPTS, "colour": ["red"]}, "colour"),
    ({"prompt": []}, "empty list"),
    ({"prompt": PROMPTS, "duration": [99, 100]}, "no valid cell"),
    ({"prompt": "a {animal}"}, "animal=[...]"),
    ({"prompt": PROMPTS, "duration": 99}, "duration"),
    ({"prompt": PROMPTS, "takes": 0}, "takes"),
    ({"prompt": PROMPTS, "sample": "few"}, "sample"),
    ({"prompt": PROMPTS, "duration": [3, 4], "zip": ("prompt", "duration")}, "zip"),
    ({"prompt": PROMPTS, "rows": []}, "rows"),
    ({"prompt": [f"{n}" for n in range(1001)], "takes": 1000}, "100,000"),
    ({}, "prompt"),
    ({"prompt": PROMPTS, "sample": (1, 2, 3)}, "sample"),
    ({"prompt": PROMPTS, "zip": 5}, "zip"),
    ({"prompt": "{take}", "take": ["a"]}, "a different name"),
]


def test_an_impossible_sweep_is_rejected_with_a_readable_message(
    client: Client,
) -> None:
    def check(row: tuple[dict[str, Any], str]) -> None:
        arguments, words = row
        with pytest.raises(InputError, match="Nothing was sent") as caught:
            client.sweep("text-to-video", **arguments)
        assert words in str(caught.value)

    assert_each(NO_SENSE, check)


def test_a_plan_does_not_wait_long_for_an_unreachable_service(tmp_path: Path) -> None:
    def away(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("nobody is there", request=request)

    clock, transport = AdvancingClock(), httpx.MockTransport(away)
    settings: dict[str, Any] = {"home": tmp_path, "clock": clock, "catalog": CATALOG}
    with Client("http://service.test", "a-key", transport=transport, **settings) as own:
        plan = own.sweep("text-to-video", prompt=PROMPTS, duration=3)
    assert plan.spendable_micro_usd is None
    assert plan.estimate().high == 3 * 204_000
    assert "Balance" not in repr(plan)
    assert sum(clock.slept_s[:-1]) <= 1  # no pause begins later


def test_a_function_without_a_rate_has_cells_of_unknown_price(client: Client) -> None:
    function = next(f for f in client.catalog if f.is_open)
    plan = client.sweep(function.path, prompt=PROMPTS)
    assert (plan.estimate().low, plan.estimate().high) == (None, None)
    assert plan.frame().high_micro_usd.isna().all()
    assert set(plan.frame().estimate_kind) == {"unknown"}


def test_jobs_are_an_axis_and_mean_their_outputs(client: Client) -> None:
    jobs = [
        client.submit("text-to-video", prompt=prompt, duration=length).wait()
        for prompt, length in zip(PROMPTS[:2], (3, 4), strict=True)
    ]
    plan = client.sweep("video-upscale", video=jobs, upscale_factor=["x2", "x4"])
    assert plan.frame().video.unique().tolist() == [job.id for job in jobs]
    assert plan.cells[0].fields["video_url"] is jobs[0]
    single = client.estimate("video-upscale", video=jobs[1], upscale_factor="x2")
    assert single.high is not None
    assert plan.frame().high_micro_usd[2] == single.high
    client.submit("video-upscale", video=jobs[0], upscale_factor="x2")
    assert plan.refresh().owned.tolist() == [True, False, False, False]


def test_a_zip_and_a_grid_of_the_same_values_are_two_sweeps(client: Client) -> None:
    axes: dict[str, Any] = {"prompt": PROMPTS, "duration": [3, 4, 5]}
    grid = client.sweep("text-to-video", **axes)
    zipped = client.sweep("text-to-video", zip=("prompt", "duration"), **axes)
    assert grid.id != zipped.id


def test_pictures_in_memory_name_a_sweep_by_their_content(
    client: Client, tmp_path: Path
) -> None:
    def plan() -> Any:
        pictures = [make_picture((64, 64), colour) for colour in ("teal", "navy")]
        return client.sweep("image-upscale", image_url=pictures)

    first, second = plan(), plan()
    assert len(first) == 2
    assert first.id == second.id


def test_a_plan_of_files_sees_what_it_has_submitted(
    client: Client, tmp_path: Path
) -> None:
    pictures = [make_png(tmp_path / f"{n}.png", (64 + n, 64)) for n in range(2)]
    plan = client.sweep("image-upscale", image_url=pictures)
    plan.run(budget="$0.30").wait()
    assert plan.refresh().owned.all()
    again = plan.run(budget="$0.30").wait()
    assert again.frame()["status"].eq("completed").all()
