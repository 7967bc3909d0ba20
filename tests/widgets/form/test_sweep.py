"""A form whose fields become lists: what varies, the call, the plan and the run."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ipywidgets
import pytest

from mediakit import Client
from mediakit.catalog import Catalog
from mediakit.sweep.grid import grid_of
from mediakit.widgets.form.code_view import CodeView
from mediakit.widgets.form.controller import Form
from mediakit.widgets.form.python_code import sweep_call
from mediakit.widgets.form.state import FormState
from mediakit.widgets.form.sweep.sweep_call import (
    SweepCall,
    SweepChoice,
    axes_of,
    call_of,
    numbers_in,
)
from mediakit.widgets.form.sweep.sweep_panel import INCOMPLETE, NOTHING_VARIES
from mediakit.widgets.sweeps import AsyncPlan
from mediakit.widgets.sweeps.plan_view import CHANGED
from tests.support.samples.media_samples import make_png
from tests.support.samples.shapes import WITH_EVERY_SHAPE
from tests.support.soak import IS_SOAK
from tests.widgets.form.test_form import finish, shown, until

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


def test_ticked_fields_are_lists_and_the_rest_is_fixed() -> None:
    state = start("text-to-video", prompt="a kite", duration=7, audio="native")
    made = call(state, resolution=("720p", "4k"), duration="3, 5")

    assert made.arguments == {
        "prompt": "a kite",
        "duration": [3, 5],
        "resolution": ["720p", "4k"],
        "audio": "native",
    }
    assert not made.problems


def test_fields_at_their_default_are_left_out_as_in_the_call_of_one_request() -> None:
    assert call(start("text-to-video", prompt="a kite")).arguments == {
        "prompt": "a kite"
    }


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


def test_a_field_that_is_ticked_again_has_the_values_that_it_had() -> None:
    state = start("text-to-video", prompt="a kite")
    spec = axes_of(state)["duration"]
    choice = SweepChoice().with_varied(spec, 5).with_entry("duration", "3-5")
    without = choice.without("duration")
    assert "duration" not in call_of(state, without).axes

    again = without.with_varied(spec, 5)
    assert call_of(state, again).axes["duration"] == [3, 4, 5]


def test_slots_get_lines_of_their_own_in_the_order_in_which_they_appear() -> None:
    state = start("text-to-video", prompt="the form's own")
    prompts = "a {animal} over {place}\n{weather} over {place}, {{not a slot}}"
    made = call(state, prompt=prompts, animal="fox\n\n hare ")

    assert made.slots == ("animal", "place", "weather")
    assert made.axes["animal"] == ["fox", "hare"]
    assert made.problems == dict.fromkeys(
        ["place", "weather"], "Give at least one value, one a line."
    )


def test_a_template_that_does_not_vary_has_slots_too() -> None:
    made = call(start("text-to-video", prompt="a {animal}"), animal="fox\nhare")

    assert made.arguments == {"prompt": "a {animal}", "animal": ["fox", "hare"]}


@pytest.mark.parametrize("slot", ["takes", "class", "zip"])
def test_a_slot_that_cannot_be_an_argument_has_a_sentence(slot: str) -> None:
    made = call(start("text-to-video", prompt=f"a {{{slot}}}"))

    assert made.problems == {slot: f"A sweep cannot have a slot named {slot}."}


def test_booleans_vary_over_both_and_takes_are_a_number() -> None:
    made = call(start("text-to-video", prompt="a kite"), takes=3, multi_shot="")

    assert made.arguments == {
        "prompt": "a kite",
        "multi_shot": [False, True],
        "takes": 3,
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
    assert wrong.problems["size"].startswith("Line 2: this is no JSON")


def test_a_tick_field_without_a_tick_has_a_sentence() -> None:
    made = call(start("text-to-video", prompt="a kite"), resolution=())

    assert made.problems == {"resolution": "Tick at least one resolution."}
    assert "resolution" not in made.axes


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("3, 5, 10", [3, 5, 10]),
        ("3-9 step 2", [3, 5, 7, 9]),
        ("3 - 9 step 4, 4; 5", [3, 7, 4, 5]),
        ("3-6", [3, 4, 5, 6]),
        ("3 to 5", [3, 4, 5]),
        ("5\n5\n6", [5, 6]),
        ("-5--3", [-5, -4, -3]),
        ("2.5", [2.5]),
        ("99", [99]),
    ],
)
def test_numbers_are_listed_or_counted(text: str, numbers: list[float]) -> None:
    assert numbers_in(text, whole=True) == numbers


def test_steps_of_a_fraction_are_exact() -> None:
    assert numbers_in("0-0.3 step 0.1", whole=False) == [0, 0.1, 0.2, 0.3]
    assert numbers_in("0-1", whole=False, step=0.5) == [0, 0.5, 1]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "Write numbers, such as 3, 5, 10 or 3-9 step 2."),
        ("three", '"three" is not a number. Write 3, 5, 10 or 3-9 step 2.'),
        ("1e3", '"1e3" is not a number. Write 3, 5, 10 or 3-9 step 2.'),
        ("0-1", "Add the step, such as 0-1 step 0.25."),
        ("9-3 step 2", "Write 9-3 step 2 from the least to the greatest number."),
        ("3-9 step 0", "Write 3-9 step 0 from the least to the greatest number."),
        ("0-1 step 0.000001", "Write at most 1,000 numbers."),
    ],
)
def test_what_is_no_list_of_numbers_has_a_sentence(text: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=r".") as raised:
        numbers_in(text, whole=False)

    assert str(raised.value) == sentence


def test_the_call_can_be_copied_as_python() -> None:
    state = start("text-to-video", prompt='a "{animal}"')
    made = call(state, takes=2, resolution=("720p", "4k"), animal="fox")
    code = sweep_call(CATALOG, state.function, made.arguments)

    parsed = ast.parse(code).body[0]
    assert isinstance(parsed, ast.Expr)
    assert isinstance(parsed.value, ast.Call)
    keywords = {k.arg: ast.literal_eval(k.value) for k in parsed.value.keywords}
    assert ast.unparse(parsed.value.func) == "client.sweep"
    assert ast.literal_eval(parsed.value.args[0]) == "text-to-video"
    assert keywords == made.arguments


# -- the form -------------------------------------------------------------------------


@pytest.fixture
def form(own_client: Client) -> Iterator[Form]:
    made = own_client.form("text-to-video", prompt="a kite", duration=3)
    until(lambda: made.state.funds.balance is not None, made)
    yield made
    finish(made)


def everything(widget: Any) -> Iterator[Any]:
    yield widget
    for child in getattr(widget, "children", ()):
        yield from everything(child)


def named(form: Form, name: str, kind: type = ipywidgets.DOMWidget) -> Any:
    """Return the last widget of the form with this description."""
    found = [
        widget
        for widget in everything(form.widget)
        if str(getattr(widget, "description", "")).lower() == name.lower()
        and isinstance(widget, kind)
    ]
    return found[-1]


def open_sweep(form: Form) -> None:
    named(form, "Sweep…").value = True


def tick(form: Form, name: str) -> None:
    named(form, name, ipywidgets.Checkbox).value = True


def run_button(form: Form) -> Any:
    return form._sweep._plan._run  # type: ignore[union-attr]


def until_planned(form: Form, text: str) -> None:
    until(lambda: run_button(form).description == text, form)


def test_nothing_of_a_sweep_is_made_before_it_is_opened(form: Form) -> None:
    assert form._sweep is None
    before = len([*everything(form.widget)])
    open_sweep(form)
    assert len([*everything(form.widget)]) > before
    assert NOTHING_VARIES in shown(form)

    named(form, "Sweep…").value = False
    assert len([*everything(form.widget)]) == before


def test_the_plan_follows_what_is_ticked_and_the_form_and_sends_nothing(
    form: Form, own_client: Client
) -> None:
    open_sweep(form)
    tick(form, "prompt")
    named(form, "values of prompt").value = "a kite\na fox"
    tick(form, "resolution")
    tick(form, "1080p")
    until_planned(form, "Run 4 cells · $0.948")

    form.values.duration = 5
    until_planned(form, "Run 4 cells · $1.58")
    named(form, "takes").value = 2
    until_planned(form, "Run 8 cells · $3.16")
    assert len(own_client.history.frame()) == 0


def test_cells_that_are_invalid_are_shown_with_their_reason(form: Form) -> None:
    open_sweep(form)
    tick(form, "duration")
    named(form, "values of duration (s)").value = "3, 99"
    until_planned(form, "Run 1 cell · $0.204")

    assert "1 cell invalid: duration" in shown(form)


def test_what_cannot_be_read_stands_below_its_box_and_keeps_from_running(
    form: Form,
) -> None:
    open_sweep(form)
    tick(form, "duration")
    until_planned(form, "Run 1 cell · $0.204")
    named(form, "values of duration (s)").value = "three"

    assert "&#34;three&#34; is not a number" in shown(form)
    assert INCOMPLETE in shown(form)
    assert run_button(form).disabled


def test_a_plan_of_which_no_cell_can_be_sent_says_why(form: Form) -> None:
    open_sweep(form)
    tick(form, "duration")
    named(form, "values of duration (s)").value = "99"

    until(lambda: "duration" in form._sweep._plan._facts.value, form)  # type: ignore[union-attr]
    assert run_button(form).disabled


def test_a_click_on_a_plan_that_has_just_changed_submits_nothing(
    form: Form, own_client: Client
) -> None:
    open_sweep(form)
    tick(form, "duration")
    until_planned(form, "Run 1 cell · $0.204")
    named(form, "values of duration (s)").value = "3, 15"
    run_button(form).click()

    assert CHANGED in shown(form)
    until_planned(form, "Run 2 cells · $1.224")
    assert CHANGED not in shown(form)
    assert len(own_client.history.frame()) == 0


def test_run_pays_for_each_cell_once_and_shows_the_wall(
    form: Form, own_client: Client
) -> None:
    open_sweep(form)
    tick(form, "duration")
    named(form, "values of duration (s)").value = "3, 4"
    until_planned(form, "Run 2 cells · $0.476")
    run_button(form).click()
    until_planned(form, "Show 2 cells · $0.00")
    assert len(own_client.history.frame()) == 2
    wall = form.widget.children[2]
    assert "mk-below" in wall._dom_classes

    run_button(form).click()
    until(lambda: form.widget.children[2] is not wall, form)
    until(lambda: not run_button(form).disabled, form)
    assert len(own_client.history.frame()) == 2
    assert wall.comm is None


def test_two_clicks_at_once_begin_one_run(
    form: Form, own_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[object] = []
    begin = AsyncPlan._begin

    async def counted(plan: AsyncPlan, *args: Any) -> Any:
        begun.append(plan)
        return await begin(plan, *args)

    monkeypatch.setattr(AsyncPlan, "_begin", counted)
    open_sweep(form)
    tick(form, "duration")
    until_planned(form, "Run 1 cell · $0.204")
    run_button(form).click()
    run_button(form).click()
    until_planned(form, "Show 1 cell · $0.00")

    assert len(begun) == 1
    assert len(own_client.history.frame()) == 1


def test_local_files_vary_and_are_not_uploaded_for_the_plan(
    client: Client, tmp_path: Path
) -> None:
    files = [make_png(tmp_path / name, (64, 48)) for name in ("cat.png", "dog.png")]
    form = client.form("image-upscale")
    open_sweep(form)
    tick(form, "image")
    named(form, "values of image").value = "\n".join([*map(str, files), "gone.png"])
    until(lambda: run_button(form).description.startswith("Run 2 cells"), form)

    assert "1 cell invalid: image_url" in shown(form)
    finish(form)


def test_a_budget_below_the_cheapest_cell_is_refused_in_a_sentence(
    form: Form, own_client: Client
) -> None:
    open_sweep(form)
    tick(form, "duration")
    until_planned(form, "Run 1 cell · $0.204")
    named(form, "Budget").value = "$0.01"
    run_button(form).click()

    until(lambda: "the price of the cheapest new cell" in shown(form), form)
    until(lambda: not run_button(form).disabled, form)
    assert len(own_client.history.frame()) == 0


def test_the_code_is_the_plan_that_is_shown(form: Form) -> None:
    open_sweep(form)
    tick(form, "resolution")
    tick(form, "4k")
    named(form, "Copy sweep as Python").value = True

    assert form._sweep is not None
    assert isinstance(form._sweep._code, CodeView)
    code = form._sweep.as_python()
    assert 'resolution=["720p", "4k"]' in code
    assert code.split("resolution")[0] in shown(form).replace("&#34;", '"')


def test_a_rerun_keeps_what_was_chosen_to_vary(form: Form, own_client: Client) -> None:
    open_sweep(form)
    tick(form, "duration")
    named(form, "values of duration (s)").value = "3, 4"
    again = own_client.form("text-to-video", prompt="a kite", duration=3)
    assert named(again, "Sweep…").value is False

    open_sweep(again)
    assert named(again, "values of duration (s)").value == "3, 4"
    finish(again)


def test_a_closed_form_frees_the_widgets_of_its_sweep(form: Form) -> None:
    open_sweep(form)
    tick(form, "prompt")
    tick(form, "resolution")
    panel = [*everything(form._sweep.widget)]  # type: ignore[union-attr]

    form.close()
    assert all(widget.comm is None for widget in panel)


def test_every_control_of_a_sweep_has_a_name(client: Client) -> None:
    for function in client.catalog:
        if function.kind not in WITH_EVERY_SHAPE and not IS_SOAK:
            continue
        form = client.form(function.kind)
        open_sweep(form)
        assert form._sweep is not None
        for name in axes_of(form.state):
            form._sweep._choose(
                form._sweep.choice.with_varied(axes_of(form.state)[name], None)
            )
        for widget in everything(form._sweep.widget):
            if hasattr(widget, "description") and not isinstance(
                widget, ipywidgets.HTML | ipywidgets.Label
            ):
                assert widget.description, (function.kind, widget)
        finish(form)
