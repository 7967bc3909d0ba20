"""A form whose fields become lists: its axes, the call, the plan and the run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mediakit import Client
from mediakit.catalog import Catalog
from mediakit.sweep.grid import grid_of
from mediakit.widgets.form.controller import Form
from mediakit.widgets.form.state import FormState
from mediakit.widgets.form.sweep_call import (
    SweepCall,
    SweepChoice,
    axes_of,
    call_of,
    numbers_in,
)
from mediakit.widgets.form.sweep_panel import (
    INCOMPLETE,
    NOTHING_VARIES,
    PLAN_CHANGED,
    TAKES,
)
from mediakit.widgets.sweeps.plan_view import AMOUNT
from tests.support.samples.media_samples import make_png
from tests.support.soak import IS_SOAK
from tests.support.widgets import finish, page, say, until
from tests.widgets.form.shapes import WITH_EVERY_SHAPE

CATALOG = Catalog.default()
PICTURES = "https://a.test/1.png, https://a.test/2.png\nthree.png"

# -- the call, without a kernel -------------------------------------------------------


def start(kind: str, **values: object) -> FormState:
    return FormState.start(CATALOG.function(kind), values)


def call(state: FormState, takes: int = 1, **entries: Any) -> SweepCall:
    """Return the call where the fields among the entries vary."""
    choice = SweepChoice(takes=takes)
    specs = axes_of(state)
    for name, entry in entries.items():
        if name in specs:
            choice = choice.with_varied(specs[name], state.values.get(name))
        choice = choice.with_entry(name, entry)
    return call_of(state, choice)


@pytest.mark.parametrize(
    ("values", "entries", "arguments"),
    [
        ({}, {}, {}),  # what is at its default is left out
        (
            {"duration": 7, "audio": "native"},
            {"resolution": ("720p", "4k"), "duration": "3, 5"},
            {"duration": [3, 5], "resolution": ["720p", "4k"], "audio": "native"},
        ),
        (
            {},
            {"takes": 3, "multi_shot": ""},
            {"multi_shot": [False, True], "takes": 3},
        ),
        (
            {"prompt": "a {animal}"},
            {"animal": "fox\n\n hare "},
            {"prompt": "a {animal}", "animal": ["fox", "hare"]},
        ),
        (
            {"prompt": "the form's own"},
            {"prompt": "a {b} over {a}\n{{no slot}}", "a": "dunes", "b": "kite"},
            {
                "prompt": ["a {b} over {a}", "{{no slot}}"],
                "b": ["kite"],
                "a": ["dunes"],
            },
        ),
    ],
)
def test_ticked_fields_and_slots_are_lists_and_the_rest_is_fixed(
    values: dict[str, object], entries: dict[str, Any], arguments: dict[str, object]
) -> None:
    made = call(start("text-to-video", **{"prompt": "a kite"} | values), **entries)

    assert made.arguments == {"prompt": "a kite"} | arguments
    assert not made.problems


@pytest.mark.parametrize(
    ("values", "entries", "problems"),
    [
        ({"prompt": "a {b}"}, {}, {"b": "Enter at least one value, one per line."}),
        *(
            (
                {"prompt": f"a {{{slot}}}"},
                {},
                {slot: f"A sweep cannot have a slot named {slot}."},
            )
            for slot in ("takes", "class", "zip")
        ),
        ({}, {"resolution": ()}, {"resolution": "Select at least one resolution."}),
    ],
)
def test_a_field_that_cannot_vary_says_why(
    values: dict[str, object], entries: dict[str, Any], problems: dict[str, str]
) -> None:
    made = call(start("text-to-video", **{"prompt": "a kite"} | values), **entries)

    assert made.problems == problems


def test_an_axis_begins_with_the_value_of_the_form() -> None:
    state = start("text-to-video", prompt="a kite\nover dunes", duration=7)
    choice = SweepChoice()
    for name in ("prompt", "duration", "resolution"):
        choice = choice.with_varied(axes_of(state)[name], state.values[name])

    made = call_of(state, choice)
    assert made.axes == {
        "prompt": ["a kite over dunes"],
        "duration": [7],
        "resolution": ["720p"],
    }


def test_media_are_one_a_line_and_lists_of_media_one_list_a_line() -> None:
    urls = "https://a.test/1.png\ntwo.png\n"
    one = call(start("image-upscale"), image_url=urls)
    several = call(start("r4", prompt="a kite"), image_urls=PICTURES)

    assert one.axes["image_url"] == ["https://a.test/1.png", "two.png"]
    assert several.axes["image_urls"] == [
        ["https://a.test/1.png", "https://a.test/2.png"],
        ["three.png"],
    ]
    grid = grid_of(CATALOG.function("r4"), several.axes)
    assert len(grid.points) == 2


def test_a_list_that_does_not_vary_is_no_axis() -> None:
    state = start("r4", prompt="a kite", image_urls=["1.png", "2.png"])
    grid = grid_of(state.function, call(state, duration=(3, 5)).axes)
    assert len(grid.points) == 2

    further = start("text-to-image", prompt="a kite", styles=["noir", "pop"])
    made = call(further)
    assert made.axes["styles"] == [["noir", "pop"]]
    assert len(grid_of(further.function, made.axes).points) == 1


def test_what_an_open_function_is_given_beyond_its_fields_varies_as_json() -> None:
    state = start("text-to-image", prompt="a kite", size={"width": 8})

    made = call(state, size='{"width": 8}\n{"width": 9}')
    assert made.axes["size"] == [{"width": 8}, {"width": 9}]
    wrong = call(state, size='{"width": 8}\n{')
    assert wrong.problems["size"].startswith("Line 2: this is not valid JSON")


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("3, 5, 10", [3, 5, 10]),
        ("3 - 9 step 4, 4; 5", [3, 7, 4, 5]),
        ("3-6", [3, 4, 5, 6]),
        ("3 to 5", [3, 4, 5]),
        ("5\n5\n6", [5, 6]),
        ("-5--3", [-5, -4, -3]),
        ("2.5", [2.5]),
        ("0-0.3 step 0.1", [0, 0.1, 0.2, 0.3]),
        ("", "Enter numbers, such as 3, 5, 10 or 3-9 step 2."),
        ("three", '"three" is not a number. Enter 3, 5, 10 or 3-9 step 2.'),
        ("9-3 step 2", "In 9-3 step 2, write the smaller number first."),
        ("3-9 step 0", "In 3-9 step 0, the step must be above 0."),
        ("0-1 step 0.000001", "Enter at most 1,000 numbers."),
    ],
)
def test_numbers_are_listed_or_counted(text: str, numbers: list[float] | str) -> None:
    if isinstance(numbers, list):
        assert numbers_in(text, whole=True) == numbers
    else:
        with pytest.raises(ValueError, match=re.escape(numbers)):
            numbers_in(text, whole=True)


def test_a_span_of_fractions_needs_a_step() -> None:
    assert numbers_in("0-1", whole=False, step=0.5) == [0, 0.5, 1]
    with pytest.raises(ValueError, match=r"Add the step, such as 0-1 step 0\.25"):
        numbers_in("0-1", whole=False)


# -- the form -------------------------------------------------------------------------


@pytest.fixture
def form(own_client: Client) -> Iterator[Form]:
    made = own_client.form("text-to-video", prompt="a kite", duration=3)
    until(lambda: made.state.funds.balance is not None, made)
    yield made
    finish(made)


def open_sweep(form: Form) -> None:
    say(form, "sweep", open=True)


def vary(form: Form, name: str, text: str | None = None) -> None:
    """Tick a field, and fill in its values."""
    say(form, "sweep", vary=name, on=True)
    if text is not None:
        say(form, "sweep", axis=name, text=text)


def sweep(form: Form) -> dict[str, Any]:
    """Return the panel as the page draws it."""
    return dict(page(form)["sweep"])


def axis(form: Form, name: str) -> dict[str, Any]:
    return next(each for each in sweep(form)["axes"] if each["name"] == name)


def run(form: Form) -> None:
    say(form, "sweep", run=sweep(form)["run"])


def until_planned(form: Form, text: str) -> None:
    until(lambda: sweep(form)["run"] == text and not sweep(form)["off"], form)


def test_the_plan_and_its_code_follow_the_ticked_fields_and_nothing_is_sent(
    form: Form, own_client: Client
) -> None:
    open_sweep(form)
    assert sweep(form)["said"] == NOTHING_VARIES
    vary(form, "prompt", "a kite\na fox")
    vary(form, "resolution")
    assert axis(form, "resolution")["ticked"] == [0]
    say(form, "sweep", axis="resolution", option=1, on=True)
    until_planned(form, "Run 4 cells · $0.948")
    say(form, "sweep", axis="resolution", option=0, on=False)
    assert axis(form, "resolution")["ticked"] == [1]
    say(form, "sweep", axis="resolution", option=0, on=True)
    until_planned(form, "Run 4 cells · $0.948")

    form.values.duration = 5
    until_planned(form, "Run 4 cells · $1.58")
    say(form, "sweep", takes="2")
    until_planned(form, "Run 8 cells · $3.16")
    assert 'resolution=["720p", "1080p"]' in sweep(form)["code"]
    say(form, "sweep", budget="$1.50")
    assert sweep(form)["fits"] == (
        "About 4 of 8 fit in $1.50, which completes 1 of 2 prompts."
    )
    assert sweep(form)["run"] == "Run about 4 of 8 · up to $1.50"
    say(form, "sweep", budget="$0.10")
    assert sweep(form)["fits"] == "No new cell fits in $0.10."
    assert sweep(form)["off"]
    say(form, "sweep", budget="3 EUR")
    assert sweep(form)["fits"] == AMOUNT
    assert sweep(form)["off"]
    say(form, "sweep", budget="$5")
    assert sweep(form)["run"] == "Run 8 cells · $3.16"
    for wrong in ("", "0", "-1", "1001", "two"):
        say(form, "sweep", takes=wrong)
        assert (sweep(form)["takes"], sweep(form)["said"]) == (wrong, TAKES)
        assert sweep(form)["off"]
    say(form, "sweep", takes="1")
    until_planned(form, "Run 4 cells · $1.58")
    assert len(own_client.history.frame()) == 0


def test_the_amount_that_a_budget_has_spent_is_not_available_again(
    form: Form, own_client: Client
) -> None:
    open_sweep(form)
    vary(form, "prompt", "a kite\na fox\nan owl")
    until_planned(form, "Run 3 cells · $0.612")
    say(form, "sweep", budget="$0.45")
    assert sweep(form)["fits"] == "2 of 3 fit in $0.45."
    run(form)

    left = "No new cell fits in the $0.042 left of $0.45."
    until(lambda: sweep(form)["fits"] == left, form)
    until(lambda: sweep(form)["run"] == "No cell fits the budget", form)
    assert sweep(form)["off"]
    assert len(own_client.history.frame()) == 2
    say(form, "sweep", budget="$0.70")
    until_planned(form, "Run 1 cell · $0.204")
    assert sweep(form)["fits"] == "1 of 1 fit in the $0.292 left of $0.70."


def test_a_slot_of_the_prompt_is_swept_without_a_field_that_varies(form: Form) -> None:
    form.values.prompt = "a {animal} by a river"
    open_sweep(form)
    say(form, "sweep", axis="animal", text="fox\nowl")
    until_planned(form, "Run 2 cells · $0.408")


def test_invalid_or_unreadable_values_are_reported_and_block_the_run(
    form: Form,
) -> None:
    open_sweep(form)
    vary(form, "duration", "3, 99")
    until_planned(form, "Run 1 cell · $0.204")
    assert "1 cell invalid: duration" in sweep(form)["plan"]

    say(form, "sweep", axis="duration", text="three")
    assert '"three" is not a number' in axis(form, "duration")["problem"]
    assert sweep(form)["said"] == INCOMPLETE
    assert sweep(form)["off"]
    say(form, "sweep", axis="duration", text="99")
    until(lambda: sweep(form)["said"] not in ("", INCOMPLETE), form)
    assert sweep(form)["off"]


def test_a_click_on_a_plan_that_has_just_changed_submits_nothing(
    form: Form, own_client: Client
) -> None:
    open_sweep(form)
    vary(form, "duration")
    until_planned(form, "Run 1 cell · $0.204")
    text = sweep(form)["run"]
    say(form, "sweep", axis="duration", text="3, 15")
    say(form, "sweep", run=text)

    assert sweep(form)["error"] == PLAN_CHANGED
    until_planned(form, "Run 2 cells · $1.224")
    say(form, "sweep", run=text)  # the price that was seen is another one
    assert sweep(form)["error"] == PLAN_CHANGED
    assert len(own_client.history.frame()) == 0


def test_the_plan_is_back_at_once_when_what_was_planned_is_chosen_again(
    form: Form,
) -> None:
    open_sweep(form)
    vary(form, "duration", "3, 4")
    until_planned(form, "Run 2 cells · $0.476")
    for _ in range(2):
        say(form, "sweep", axis="duration", text="3")
        assert sweep(form)["off"]
        assert sweep(form)["fades"]
        say(form, "sweep", axis="duration", text="3, 4")
        assert (sweep(form)["run"], sweep(form)["off"]) == (
            "Run 2 cells · $0.476",
            False,
        )
    say(form, "sweep", axis="duration", text="3")
    until_planned(form, "Run 1 cell · $0.204")


def test_run_pays_for_each_cell_once_and_its_wall_comes_back_with_the_form(
    form: Form, own_client: Client
) -> None:
    open_sweep(form)
    vary(form, "duration", "3, 4")
    until_planned(form, "Run 2 cells · $0.476")
    run(form)
    run(form)
    until_planned(form, "Show 2 cells · $0.00")
    assert len(own_client.history.frame()) == 2
    [wall] = page(form)["wall"]

    again = own_client.form("text-to-video", prompt="a kite", duration=3)
    said = re.search(r'client\.sweep_results\("(.+)"\)', page(again)["past"])
    assert said is not None
    assert len(own_client.sweep_results(said[1])) == 2
    say(again, "sweep", past=True)
    until(lambda: page(again)["wall"], again)
    assert page(again)["past"] == ""
    form = again
    open_sweep(form)
    until_planned(form, "Show 2 cells · $0.00")
    [wall] = page(form)["wall"]

    run(form)
    until(lambda: page(form)["wall"] != [wall], form)
    until(lambda: not sweep(form)["off"], form)
    assert len(own_client.history.frame()) == 2
    finish(form)


def test_local_files_vary_and_are_not_uploaded_for_the_plan(
    client: Client, tmp_path: Path
) -> None:
    sizes = {"cat.png": (64, 48), "dog.png": (48, 64)}
    files = [make_png(tmp_path / name, size) for name, size in sizes.items()]
    form = client.form("image-upscale")
    open_sweep(form)
    vary(form, "image_url", "\n".join([*map(str, files), "gone.png"]))
    until(lambda: sweep(form)["run"].startswith("Run 2 cells"), form)

    assert "1 cell invalid: image_url" in sweep(form)["plan"]
    finish(form)


def test_a_rerun_keeps_what_was_chosen_to_vary(form: Form, own_client: Client) -> None:
    open_sweep(form)
    vary(form, "duration", "3, 4")
    again = own_client.form("text-to-video", prompt="a kite", duration=3)
    assert page(again)["sweep"] is None

    open_sweep(again)
    assert axis(again, "duration")["text"] == "3, 4"
    finish(again)


def test_every_field_of_a_sweep_has_a_name(client: Client) -> None:
    for function in client.catalog:
        if function.kind not in WITH_EVERY_SHAPE and not IS_SOAK:
            continue
        form = client.form(function.kind)
        open_sweep(form)
        for name in axes_of(form.state):
            vary(form, name)
        assert all(each["label"] for each in sweep(form)["axes"])
        finish(form)
