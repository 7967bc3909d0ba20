"""A form and code, both ways: values, the call to copy, and earlier requests."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import ipywidgets
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from mediakit import Client, ConflictError, InputError, NotFoundError
from mediakit.catalog import Catalog, Function
from mediakit.client.requests import plain_fields
from mediakit.widgets.form.code_view import TITLE
from mediakit.widgets.form.controller import Form
from mediakit.widgets.form.form_values import FormValues
from mediakit.widgets.form.python_code import WIDTH, python_call
from mediakit.widgets.form.state import FormState
from tests.support.samples.bodies import accepted_bodies
from tests.support.samples.field_values import JSON, TEXTS
from tests.support.samples.sample_requests import MADE_UP
from tests.support.samples.shapes import by_shape
from tests.support.soak import trials
from tests.widgets.form.test_form import (
    box,
    control,
    finish,
    press_generate,
    shown,
    until,
)

CATALOG = Catalog.default()


@pytest.fixture
def make_form(client: Client) -> Iterator[Callable[..., Form]]:
    forms: list[Form] = []

    def make(kind: str, **values: Any) -> Form:
        forms.append(client.form(kind, **values))
        until(lambda: forms[-1].state.funds.balance is not None, forms[-1])
        return forms[-1]

    yield make
    for form in forms:
        finish(form)


# -- values ---------------------------------------------------------------------------


def test_a_value_set_in_code_moves_the_control_and_the_price(
    make_form: Callable[..., Form],
) -> None:
    form = make_form("text-to-video", prompt="a kite")

    form.values.duration = 3
    form.values["resolution"] = "1080p"
    assert box(form, "duration").value == 3
    assert control(form, "resolution").widget.value == "1080p"
    assert "<b>$0.27</b>" in shown(form)
    assert form.request()["duration"] == 3


def test_what_people_change_is_read_in_code_at_once(
    make_form: Callable[..., Form],
) -> None:
    form = make_form("text-to-video")
    values = form.values

    box(form, "prompt").value = "a kite"
    box(form, "duration").value = 7
    assert (values.prompt, values["duration"]) == ("a kite", 7)
    assert dict(values) == dict(form.values)
    assert "duration" in dir(values)
    assert values._ipython_key_completions_()[:2] == ["prompt", "duration"]
    assert "'duration': 7" in repr(values)


def test_several_values_are_set_together_or_not_at_all(
    make_form: Callable[..., Form],
) -> None:
    form = make_form("text-to-video", prompt="before")
    before = form.state

    with pytest.raises(InputError, match=r"resolution.*Nothing was changed\."):
        form.values.update(prompt="after", duration=9, resolution="8k")
    assert form.state == before
    assert box(form, "prompt").value == "before"
    form.values.update({"duration": 9}, prompt="after")
    assert (form.values.duration, form.values.prompt) == (9, "after")


def test_a_field_that_is_not_there_is_refused_with_the_nearest(
    make_form: Callable[..., Form],
) -> None:
    form = make_form("text-to-video")

    with pytest.raises(InputError, match="did you mean prompt"):
        form.values.promt = "a"
    with pytest.raises(AttributeError, match="the fields: prompt, duration"):
        form.values.promt  # noqa: B018
    with pytest.raises(KeyError):
        form.values["promt"]


def test_none_gives_a_field_its_default_back(make_form: Callable[..., Form]) -> None:
    form = make_form("text-to-video", prompt="a", duration=9, multi_shot=True)

    form.values.update(duration=None, multi_shot=None, prompt=None)
    assert form.request() == make_state("text-to-video").body()


def make_state(kind: str) -> FormState:
    return FormState.start(CATALOG.function(kind))


def test_a_value_out_of_bounds_shows_and_its_problem_stands_beside_it(
    make_form: Callable[..., Form],
) -> None:
    form = make_form("text-to-video", prompt="a")

    form.values.duration = 99
    assert form.values.duration == 99
    assert "Must be a whole number from 3 to 15 seconds" in shown(form)


def test_a_picture_from_code_is_looked_at_like_one_from_hand(
    make_form: Callable[..., Form],
) -> None:
    form = make_form("image-upscale")

    form.values.image_url = Image.new("RGB", (64, 48), "teal")
    until(lambda: form.state.submit_reason is None, form)
    assert "64 x 48" in shown(form)
    assert str(form.values.image_url).endswith("picture.png")


def test_an_open_function_takes_any_name(make_form: Callable[..., Form]) -> None:
    form = make_form("text-to-image", prompt="a kite")

    form.values.style = "noir"
    assert form.values == {"prompt": "a kite", "style": "noir"}


def test_a_closed_form_says_that_it_is_closed(make_form: Callable[..., Form]) -> None:
    before = make_form("text-to-video", prompt="a")
    make_form("text-to-video", prompt="a")

    with pytest.raises(ConflictError, match="its cell gave last"):
        before.values.duration = 3


def test_a_field_named_like_a_method_is_there_with_brackets() -> None:
    held: dict[str, object] = {"items": 1}
    values = FormValues(lambda: held, held.update)

    values["items"] = 2
    assert values["items"] == 2
    assert list(values.items()) == [("items", 2)]


# -- the call to copy -----------------------------------------------------------------


class Recorder:
    """A client that keeps what it is asked for."""

    def submit(
        self, function: str, /, extra: Mapping[str, object] | None = None, **more: Any
    ) -> None:
        found = CATALOG.function(function)
        self.function = found
        self.body = found.canonical_body(plain_fields(found, more)) | dict(extra or {})


def made_by(code: str) -> Recorder:
    client = Recorder()
    exec(code, {"client": client})
    return client


@given(data=st.data())
@settings(max_examples=trials(5, 100))
@pytest.mark.parametrize("function", by_shape(CATALOG), ids=lambda f: f.kind)
def test_the_copied_call_makes_the_same_request(
    function: Function, data: st.DataObject
) -> None:
    body = data.draw(accepted_bodies(function))
    paths = {item.value: f"folder/{item.value[-5:]}" for item in function.media(body)}
    if data.draw(st.booleans()):
        body = function.with_media(body, paths)

    made = made_by(python_call(CATALOG, function, body))
    assert made.function == function
    assert made.body == function.canonical_body(body)


NAMES = st.text(max_size=8) | st.sampled_from(
    ["class", "take", "extra", "style", "seconds", "webhook_url", "º"]
)


@given(st.dictionaries(NAMES.filter(lambda name: name != "prompt"), JSON), TEXTS)
def test_what_an_open_function_takes_beyond_its_fields_is_copied_too(
    further: dict[str, object], prompt: str
) -> None:
    body = {"prompt": prompt, **further}
    code = python_call(CATALOG, CATALOG.function("text-to-image"), body)

    assert made_by(code).body == body


@given(st.text())
def test_any_text_is_copied_as_it_is(prompt: str) -> None:
    code = python_call(CATALOG, CATALOG.function("r1"), {"prompt": prompt})

    assert made_by(code).body["prompt"] == prompt


def test_a_call_is_one_line_or_one_line_for_each_field() -> None:
    function = CATALOG.function("text-to-video")
    short = {"prompt": 'a "kite"', "duration": 5, "resolution": "1080p"}
    long = {**short, "prompt": "a kite over dunes " * 3, "audio": "native"}

    assert python_call(CATALOG, function, short) == (
        """client.submit("text-to-video", prompt='a "kite"', resolution="1080p")"""
    )
    assert python_call(CATALOG, function, long).splitlines() == [
        "client.submit(",
        '    "text-to-video",',
        f'    prompt="{"a kite over dunes " * 3}",',
        '    resolution="1080p",',
        '    audio="native",',
        ")",
    ]


def test_a_long_list_stands_one_item_a_line() -> None:
    urls = [f"https://a.test/{name * 20}.png" for name in "abc"]
    code = python_call(CATALOG, CATALOG.function("keyframes"), {"images": urls})

    assert f'        "{urls[1]}",' in code.splitlines()
    assert all(len(line) <= WIDTH for line in code.splitlines())


def test_a_kind_that_several_functions_have_is_called_by_its_path() -> None:
    other = Function("a/b/text-to-video", CATALOG.function("text-to-video").declaration)

    code = python_call(CATALOG.including(other), other, {"prompt": "a"})
    assert code == 'client.submit("a/b/text-to-video", prompt="a")'


def test_a_made_up_function_with_every_shape_is_copied_too() -> None:
    body = {"prompt": "a", "camera": {"lens": "tele", "zoom": 0.5, "path": [1, 2]}}
    code = python_call(CATALOG.including(MADE_UP), MADE_UP, body)

    assert "camera={" in code
    assert "'" not in code


def unfold_code(form: Form) -> Any:
    fold = form._view._code
    fold._button.value = True
    return fold


def test_the_form_shows_its_call_as_it_is_now_and_escaped(
    make_form: Callable[..., Form],
) -> None:
    form = make_form("text-to-video", prompt="<script>alert(1)</script>")
    assert TITLE in [each.description for each in _buttons(form)]
    assert "client.submit(" not in shown(form)

    fold = unfold_code(form)
    assert "client.submit(&#34;text-to-video&#34;, prompt=" in shown(form)
    assert "<script" not in shown(form)
    box(form, "prompt").value = "a kite"
    assert "prompt=&#34;a kite&#34;" in shown(form)
    assert fold._copy.code == form.as_python()
    fold._button.value = False
    assert "client.submit(" not in shown(form)


def _buttons(form: Form) -> list[Any]:
    found: list[Any] = []

    def look(widget: Any) -> None:
        if isinstance(widget, ipywidgets.ToggleButton):
            found.append(widget)
        for child in getattr(widget, "children", ()):
            look(child)

    look(form.widget)
    return found


def test_without_anywidget_the_call_is_selected_by_a_click(
    make_form: Callable[..., Form], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mediakit.widgets.form.code_view.has_anywidget", lambda: False)
    form = make_form("text-to-video", prompt="a kite")

    fold = unfold_code(form)
    assert fold._copy is None
    assert "client.submit(" in shown(form)


def test_a_form_whose_call_was_shown_frees_its_widgets(
    make_form: Callable[..., Form],
) -> None:
    counted = len(ipywidgets.widgets.widget._instances)
    form = make_form("text-to-video")

    unfold_code(form)._button.value = False
    form.close()
    assert len(ipywidgets.widgets.widget._instances) == counted


# -- earlier requests -----------------------------------------------------------------


def test_a_form_begins_with_what_was_asked_for_last(
    make_form: Callable[..., Form], client: Client
) -> None:
    client.submit("text-to-video", prompt="older", duration=3)
    last = client.submit("text-to-video", prompt="newer", duration=4, audio="native")
    client.submit("text-to-image", prompt="another function")

    form = make_form("text-to-video", like="last", duration=8)
    assert form.request() == {**last.state.body, "duration": 8}
    finish(form)
    older = client.history.page(text="older")[0]
    assert make_form("text-to-video", like=older.job_id).values.prompt == "older"


def test_a_form_that_is_on_the_page_keeps_what_it_holds(
    make_form: Callable[..., Form],
) -> None:
    form = make_form("text-to-video", like="last", prompt="typed", duration=3)
    press_generate(form)
    box(form, "duration").value = 9

    again = make_form("text-to-video", like="last", prompt="typed", duration=3)
    assert again.values.duration == 9


def test_a_job_of_another_function_gives_what_fits(
    make_form: Callable[..., Form], client: Client
) -> None:
    job = client.submit("text-to-image", prompt="a kite")

    assert make_form("text-to-video", like=job).values.prompt == "a kite"


def test_without_an_earlier_request_the_form_begins_as_ever(
    make_form: Callable[..., Form],
) -> None:
    assert make_form("r1", like="last").request() == make_state("r1").body()


def test_a_job_from_elsewhere_is_refused_in_a_sentence(client: Client) -> None:
    with pytest.raises(NotFoundError, match=r"media_1 is not in this history"):
        client.form("text-to-video", like="media_1")


@pytest.mark.parametrize("like", [5, ["last"], b"media_1"])
def test_what_names_no_job_is_refused_in_a_sentence(like: Any, client: Client) -> None:
    with pytest.raises(InputError, match=r'like must be "last", a job, or'):
        client.form("text-to-video", like=like)
