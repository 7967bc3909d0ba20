"""Results as inputs of a form: chosen from the history, shown, priced, sent."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import mediakit as mk
from mediakit import Client, Job
from mediakit.client.io_thread import io_thread
from mediakit.history import lineage
from mediakit.sandbox.server.running import RunningSandbox
from mediakit.widgets.form.controller import Form
from mediakit.widgets.inputs import result_search
from mediakit.widgets.inputs.result_search import ResultPage, ResultSearch
from mediakit.widgets.job.view import JobView
from tests.support.widgets import (
    edit,
    finish,
    hear,
    press,
    press_generate,
    say,
    shown,
    until,
)

# The results are made once, in one process.
pytestmark = pytest.mark.xdist_group("results")

PROMPT = "a harbour at dusk"


@pytest.fixture(scope="module")
def made(own: Client) -> dict[str, Job]:
    """Make a clip and a picture, and a clip that is erased again."""
    clip = own.run("text-to-video", prompt=PROMPT, duration=3)
    picture = own.run("text-to-image", prompt="a red kite")
    erased = own.run("text-to-video", prompt="a harbour to be erased", duration=3)
    erased.erase()
    return {"clip": clip, "picture": picture}


@pytest.fixture(scope="module")
def own(
    sandbox: RunningSandbox, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Client]:
    """Connect with a history of its own."""
    home = tmp_path_factory.mktemp("chaining")
    client = mk.connect(sandbox.base_url, sandbox.api_key, home=home)
    yield client
    client.close()


@pytest.fixture
def make_form(own: Client, made: dict[str, Job]) -> Iterator[Callable[..., Form]]:
    forms: list[Form] = []

    def make(kind: str, **values: object) -> Form:
        function = own.catalog.function(kind)
        forms.append(Form(own, function, values, name=f"{kind} {len(forms)}"))
        until(lambda: forms[-1].state.funds.balance is not None, forms[-1])
        return forms[-1]

    yield make
    for form in forms:
        finish(form)


def page_of(client: Client, medium: Any, text: str = "") -> ResultPage:
    results = ResultSearch(client)
    return io_thread().call(results.page, medium, text)


def titles(found: ResultPage) -> list[str]:
    return [result.title for result in found.results]


class Picker:
    """The page's list of results beside a field."""

    def __init__(self, form: Form, medium: str) -> None:
        self.form, self.medium = form, medium
        self.said: list[dict[str, Any]] = []
        hear(form, "answer", lambda said, _: self.said.append(said))

    def ask(self, do: str = "results", **more: Any) -> dict[str, Any]:
        self.said.clear()
        given = {"text": "", "more": False, "medium": self.medium} | more
        say(self.form, do, picker="1", number=1, **given)
        until(lambda: self.said)
        return self.said[0]


def test_results_of_the_medium_that_are_still_there_are_offered_and_searched(
    own: Client, made: dict[str, Job]
) -> None:
    assert titles(page_of(own, "video")) == [PROMPT]
    assert titles(page_of(own, "image")) == ["a red kite"]
    assert titles(page_of(own, "audio")) == []
    assert titles(page_of(own, "video", "DUSK harbour")) == [PROMPT]
    assert titles(page_of(own, "video", "kite")) == []


def test_results_come_newest_first_and_page_by_page(
    sandbox: RunningSandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(result_search, "PAGE", 2)
    own = mk.connect(sandbox.base_url, sandbox.api_key, home=tmp_path)
    names = [f"a boat no. {number}" for number in range(3)]
    jobs = [own.submit("text-to-image", prompt=name) for name in names]
    for job in jobs:
        job.wait()
    results = ResultSearch(own)
    first = io_thread().call(results.page, "image", "boat")
    second = io_thread().call(results.page, "image", "boat", first.last)

    assert titles(first) + titles(second) == names[::-1]
    assert len(first.results) == 2
    assert second.last is None
    own.close()


def test_a_chosen_clip_becomes_the_value_firms_the_price_and_is_known_as_a_parent(
    own: Client, make_form: Callable[..., Form], made: dict[str, Job]
) -> None:
    form = make_form("video-upscale")
    picker = Picker(form, "video")
    assert picker.ask(text="nothing like this")["rows"] == []
    assert picker.said[0]["words"] == "No clips match. Try fewer words."
    answer = picker.ask()
    [row] = answer["rows"]
    assert (row["title"], row["url"]) == (PROMPT, made["clip"].url)
    assert not answer["more"]
    assert picker.ask("poster", at=0)["poster"].startswith("data:image/jpeg")
    edit(form, video_url=row["url"])

    until(lambda: "$0.228" in shown(form), form)
    assert f"{PROMPT} · " in shown(form)
    assert "data:image/jpeg" in shown(form)
    press_generate(form)
    job_id = form.jobs[0].state.record.id
    parents = lineage.parents(own.components.store, [job_id])
    assert parents == {job_id: (("video_url", made["clip"].id),)}


def use_as(view: JobView, title: str) -> str:
    """Use the result of a card with a function, and return the result's URL."""
    until(lambda: "use" in view.payload["acts"])
    uses = view.home.uses
    assert uses is not None
    (path,) = (f.path for f in uses.catalog if f.title == title)
    press(view, "use", path=path)
    output = view.state.record.output
    assert output is not None
    assert output.file is not None
    return output.file.url


def test_a_card_opens_the_form_of_a_function_that_takes_its_result(
    make_form: Callable[..., Form],
) -> None:
    form = make_form("text-to-video", prompt="a mill", duration=3)
    press_generate(form)
    (view,) = form.jobs
    url = use_as(view, "Video upscale")

    ((path, model_id),) = view.payload["forms"]
    (opened,) = view._forms.values()
    assert isinstance(opened, Form)
    assert opened.widget.model_id == model_id
    assert opened.values["video_url"] == url
    until(lambda: "$0.228" in shown(opened), form)
    press(view, "close_form", path=path)
    assert view.payload["forms"] == []
    assert opened.widget.comm is None


def test_in_the_studio_the_form_opens_in_the_studio(own: Client) -> None:
    studio = own.studio()
    studio._do_choose(own.catalog.function("text-to-video").path)
    form = studio.form
    assert form is not None
    until(lambda: form.state.funds.balance is not None, form)
    form.values.update(prompt="a pier", duration=3)
    press_generate(form)
    (view,) = form.jobs
    url = use_as(view, "Video upscale")

    assert studio.form is not None
    assert studio.form.function.kind == "video-upscale"
    assert studio.form.values["video_url"] == url
    assert view.payload["forms"] == []
    studio.close()


def test_a_result_is_kept_by_its_job_and_comes_back_where_it_is_now(
    make_form: Callable[..., Form], made: dict[str, Job]
) -> None:
    clip, picture = made["clip"], made["picture"]
    form = make_form("r1", video_urls=[clip], image_urls=["https://a.test/1.png"])
    until(lambda: PROMPT in shown(form), form)
    kept = form._draft().text()

    assert clip.id in kept
    assert str(clip.url) not in kept
    assert "https://a.test/1.png" in kept
    results = make_form("r1")._model.results
    values = {"tracks": [{"url": f"mediakit-result:{picture.id}", "id": "a"}]}
    assert results.located(values) == {"tracks": [{"url": picture.url, "id": "a"}]}
    assert results.located({"video": "mediakit-result:media_none"}) == {"video": ""}
