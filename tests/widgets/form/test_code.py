"""A form and code, both ways: values, the call to copy, and earlier requests."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from mediakit import Client, InputError, NotFoundError
from mediakit.catalog import Catalog, Function
from mediakit.client.request_preparation import plain_fields
from mediakit.sandbox.server.running import RunningSandbox
from mediakit.widgets.form.controller import Form
from mediakit.widgets.form.python_code import WIDTH, python_call
from mediakit.widgets.form.state import FormState
from tests.support.samples.bodies import accepted_bodies
from tests.support.samples.field_values import JSON, TEXTS
from tests.support.soak import trials
from tests.support.widgets import (
    box,
    edit,
    finish,
    page,
    said_of,
    shown,
    until,
)
from tests.widgets.form.shapes import by_shape

CATALOG = Catalog.default()


# -- values ---------------------------------------------------------------------------


def test_code_and_people_change_the_same_values_and_the_price_follows(
    make_form: Callable[..., Form],
) -> None:
    form = make_form("text-to-video", prompt="a")
    values = form.values

    values.duration = 3
    values["resolution"] = "1080p"
    assert box(form, "duration").value == "3"
    assert box(form, "resolution").value == 1
    assert page(form)["price"]["text"] == "$0.27"
    edit(form, prompt="a kite", duration="99")
    assert (values.prompt, values["duration"]) == ("a kite", 99)
    assert said_of(form, "duration") == ["Must be a whole number from 3 to 15 seconds"]
    assert dict(values) == dict(form.values)
    assert "duration" in dir(values)
    assert values._ipython_key_completions_()[:2] == ["prompt", "duration"]
    assert "'duration': 99" in repr(values)


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


def test_none_resets_a_field_to_its_default(make_form: Callable[..., Form]) -> None:
    form = make_form("text-to-video", prompt="a", duration=9, multi_shot=True)

    form.values.update(duration=None, multi_shot=None, prompt=None)
    assert form.request() == make_state("text-to-video").body()


def make_state(kind: str) -> FormState:
    return FormState.start(CATALOG.function(kind))


def test_a_picture_from_code_is_looked_at_like_one_from_hand(
    make_form: Callable[..., Form],
) -> None:
    form = make_form("image-upscale")

    form.values.image_url = Image.new("RGB", (64, 48), "teal")
    until(lambda: form.state.submit_reason is None, form)
    assert "64 \N{MULTIPLICATION SIGN} 48" in shown(form)
    assert str(form.values.image_url).endswith("picture.png")


# -- the call to copy -----------------------------------------------------------------


class Recorder:
    """A client that records its requests."""

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


def test_a_call_is_one_line_or_one_line_for_each_field_and_item() -> None:
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
    urls = [f"https://a.test/{name * 20}.png" for name in "abc"]
    code = python_call(CATALOG, CATALOG.function("keyframes"), {"images": urls})
    assert f'        "{urls[1]}",' in code.splitlines()
    assert all(len(line) <= WIDTH for line in code.splitlines())


def test_a_kind_that_several_functions_have_is_called_by_its_path() -> None:
    other = Function("a/b/text-to-video", CATALOG.function("text-to-video").declaration)

    code = python_call(CATALOG.including(other), other, {"prompt": "a"})
    assert code == 'client.submit("a/b/text-to-video", prompt="a")'


ODD: dict[str, Any] = {"guidance-scale": 7, "class": "news", "x=print('pasted'),y": "z"}


@pytest.fixture
def dubbing(sandbox: RunningSandbox, tmp_path: Path) -> Iterator[Client]:
    """Give a client that knows a function with odd names."""
    properties = {"prompt": {"type": "string"}} | {name: {} for name in ODD}
    schema = {"type": "object", "required": ["prompt"], "properties": properties}
    catalog = Catalog.default().including(Function.from_schema("acme/x/dub", schema))
    service = sandbox.base_url, sandbox.api_key
    with Client(*service, home=tmp_path, catalog=catalog) as client:
        yield client


def test_names_that_are_no_arguments_are_copied_as_text(dubbing: Client) -> None:
    form = dubbing.form("dub", prompt="a", **ODD)
    plan = dubbing.sweep("dub", prompt=["a", "b"], **ODD)
    for code, prompt in ((form.as_python(), "a"), (plan.code, ["a", "b"])):
        (statement,) = ast.parse(code).body
        assert isinstance(statement, ast.Expr | ast.Assign)
        assert isinstance(statement.value, ast.Call)
        keywords = statement.value.keywords
        given = {each.arg: ast.literal_eval(each.value) for each in keywords}
        assert given == {"prompt": prompt, None: ODD}


# -- earlier requests -----------------------------------------------------------------


@pytest.fixture
def begun(client: Client) -> Iterator[Callable[..., Form]]:
    """Begin forms like an earlier request, and close them in the end."""
    forms: list[Form] = []

    def begin(kind: str, **values: Any) -> Form:
        forms.append(client.form(kind, **values))
        return forms[-1]

    yield begin
    for form in forms:
        finish(form)


def test_a_form_begins_with_what_was_asked_for_before(
    begun: Callable[..., Form], client: Client
) -> None:
    client.submit("text-to-video", prompt="older", duration=3)
    last = client.submit("text-to-video", prompt="newer", duration=4, audio="native")
    other = client.submit("text-to-image", prompt="another function")

    form = begun("text-to-video", like="last", duration=8)
    assert form.request() == {**last.state.body, "duration": 8}
    box(form, "duration").value = 9
    again = begun("text-to-video", like="last", duration=8)
    assert again.values.duration == 9  # what is on the page stays
    finish(again)
    older = client.history.page(text="older")[0]
    assert begun("text-to-video", like=older.job_id).values.prompt == "older"
    assert begun("r4", like=other).values.prompt == "another function"
    assert begun("r1", like="last").request() == make_state("r1").body()


def test_an_unknown_earlier_request_is_rejected_with_a_readable_message(
    client: Client,
) -> None:
    with pytest.raises(NotFoundError, match=r"media_1 is not in this history"):
        client.form("text-to-video", like="media_1")
    with pytest.raises(InputError, match=r'like must be "last", a job, or'):
        client.form("text-to-video", like=["last"])  # type: ignore[arg-type]
