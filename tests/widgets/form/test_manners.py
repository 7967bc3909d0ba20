"""Forms do what people expect of the smaller things: names, lengths, rows, words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mediakit.catalog import Catalog
from mediakit.media import MediaInfo
from mediakit.rules import Problem
from mediakit.widgets.controls.context import WidgetContext
from mediakit.widgets.controls.media_inspection import Inspection
from mediakit.widgets.controls.messages import label_of, problem_text
from mediakit.widgets.form.control_factory import build, build_field
from mediakit.widgets.form.controller import Form
from mediakit.widgets.form.state import FormState
from mediakit.widgets.nested.object_list import ObjectList
from mediakit.widgets.timeline.control import TimelineControl
from mediakit.widgets.toolkit.callbacks import guarded
from mediakit.widgets.toolkit.widget_factory import WidgetFactory
from tests.widgets.form.test_form import make_form as make_form
from tests.widgets.form.test_form import shown
from tests.widgets.timeline.test_timeline_control import Person

CATALOG = Catalog.default()


def fail(text: str) -> None:
    raise AssertionError(text)


def make_context() -> WidgetContext:
    return WidgetContext(WidgetFactory(), guarded(fail), lambda *_: None)


def timeline() -> TimelineControl:
    compose = CATALOG.function("compose-video")
    control = build_field(compose.fields["tracks"], make_context(), compose.rules)
    assert isinstance(control, TimelineControl)
    return control


def tracks_of(control: TimelineControl) -> list[dict[str, Any]]:
    value = control.value
    assert isinstance(value, list)
    return value


def test_a_track_that_is_just_there_has_the_id_that_it_needs() -> None:
    control = timeline()

    assert [each["id"] for each in tracks_of(control)] == ["track-1"]
    rows = next(iter(control.controls))
    assert isinstance(rows, ObjectList)
    rows._added()
    assert [each["id"] for each in tracks_of(control)] == ["track-1", "track-2"]


def test_an_id_that_was_cleared_by_hand_stays_cleared() -> None:
    control = timeline()
    rows = next(iter(control.controls))

    rows.value = [{"type": "video", "keyframes": [{}]}]
    rows.tell()
    assert "id" not in tracks_of(control)[0]


def clip(seconds: float) -> Inspection:
    return Inspection(MediaInfo("video", "video/mp4", 1, 64, 48, seconds, 24.0))


def test_a_placed_keyframe_takes_the_length_of_its_clip_once_it_is_known() -> None:
    control = timeline()
    Person(control).does("add", row=0)
    [keyframe] = tracks_of(control)[0]["keyframes"]
    assert keyframe["duration"] == 2_000

    tracks = tracks_of(control)
    tracks[0]["keyframes"][0]["url"] = "a.mp4"
    control._list.amend(tracks)
    control.show_found({("video", "a.mp4"): clip(5.25)})
    assert tracks_of(control)[0]["keyframes"][0]["duration"] == 5_250


def test_a_length_that_was_given_by_hand_stays() -> None:
    control = timeline()
    person = Person(control)
    person.does("add", row=0)
    person.puts(0, 0, 0, 1_500)
    tracks = tracks_of(control)
    tracks[0]["keyframes"][0]["url"] = "a.mp4"
    control._list.amend(tracks)

    control.show_found({("video", "a.mp4"): clip(5.25)})
    assert tracks_of(control)[0]["keyframes"][0]["duration"] == 1_500


def test_a_list_that_must_be_filled_in_keeps_a_row_to_begin_with() -> None:
    control = build(CATALOG.function("keyframes").fields["images"], make_context())

    assert len(control.rows) == 1  # type: ignore[attr-defined]
    control.value = control.spec.default  # as an untouched form does that runs again
    assert len(control.rows) == 1  # type: ignore[attr-defined]


def test_labels_are_titles_and_their_tooltips_have_the_name_in_code() -> None:
    fields = CATALOG.function("r1").fields
    task = build(fields["omni_reference_task_type"], make_context())

    assert task.named.description == "Reference task"
    assert task.named.tooltip.startswith("omni_reference_task_type: ")
    every = CATALOG.function("keyframes").fields
    two = {label_of(every[n]) for n in every if n.startswith("transition_duration")}
    assert two == {"Transition duration", "Duration of each transition"}


def test_every_field_of_every_function_has_a_title_and_its_own_name_to_point_at() -> (
    None
):
    for function in CATALOG:
        for name, spec in function.fields.items():
            control = build(spec, make_context())
            assert label_of(spec)[:1].isupper()
            assert "_" not in label_of(spec)
            assert str(control.named.tooltip).startswith(name)


def test_a_problem_says_what_must_be_and_not_what_is_seen_anyway() -> None:
    words = "a whole number from 3 to 15 seconds"
    assert problem_text(Problem("duration", 99, words)) == f"Must be {words}"
    missing = Problem("prompt", None, "text of 1 to 3,072 characters", required="")
    assert problem_text(missing) == "Required (1\u20133,072 characters)"


def test_one_mistake_is_explained_once() -> None:
    state = FormState.start(CATALOG.function("text-to-video"), {"prompt": "a"})
    wrong = state.with_value("duration", 99)

    assert wrong.estimate_gap == "Correct duration to see the price."
    assert wrong.submit_hint == ""
    assert wrong.submit_reason is not None


def test_a_name_of_the_interface_is_an_attribute_of_an_error_and_not_in_its_words(
    make_form: Callable[..., Form],
) -> None:
    form = make_form("text-to-video", prompt="a", duration=99)
    error = form.state._priced

    assert "(spec" not in str(error)
    assert "(spec" not in shown(form)
