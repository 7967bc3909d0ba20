"""Results as inputs of a form: chosen from the history, shown, priced, sent."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import ipywidgets
import pytest

import mediakit as mk
from mediakit import Client, Job
from mediakit.client.loop import io_thread
from mediakit.history import tuning
from mediakit.sandbox.server.running import RunningSandbox
from mediakit.widgets.form.controller import Form
from mediakit.widgets.inputs import result_search
from mediakit.widgets.inputs.result_search import Found, Results
from mediakit.widgets.job.view import JobView
from mediakit.widgets.media.media_fields import MediaControl
from tests.widgets.form.test_form import (
    _all,
    control,
    finish,
    press_generate,
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


def page_of(client: Client, medium: Any, text: str = "") -> Found:
    results = Results(client)
    return io_thread().call(results.page, medium, text)


def titles(found: Found) -> list[str]:
    return [result.title for result in found.results]


def picker_button(form: Form, name: str) -> Any:
    media = control(form, name)
    assert isinstance(media, MediaControl)
    (button,) = media.beside
    return button


def described(form: Form, class_: str) -> list[str]:
    found = (each for each in _all(form.widget) if class_ in each._dom_classes)
    return [str(each.description) for each in found]


def choose(form: Form, title: str) -> None:
    (button,) = (
        each
        for each in _all(form.widget)
        if isinstance(each, ipywidgets.Button) and each.description == title
    )
    button.click()


def test_only_results_of_the_medium_that_are_still_there_are_offered(
    own: Client, made: dict[str, Job]
) -> None:
    assert titles(page_of(own, "video")) == [PROMPT]
    assert titles(page_of(own, "image")) == ["a red kite"]
    assert titles(page_of(own, "audio")) == []


def test_results_are_searched_by_the_words_of_their_prompts(
    own: Client, made: dict[str, Job]
) -> None:
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
    results = Results(own)
    first = io_thread().call(results.page, "image", "boat")
    second = io_thread().call(results.page, "image", "boat", first.last)

    assert titles(first) + titles(second) == names[::-1]
    assert len(first.results) == 2
    assert second.last is None
    own.close()


def test_a_chosen_clip_becomes_the_value_and_firms_the_price(
    make_form: Callable[..., Form], made: dict[str, Job]
) -> None:
    form = make_form("video-upscale")
    picker_button(form, "video_url").value = True
    until(lambda: PROMPT in described(form, "mk-pick-choose"), form)
    choose(form, PROMPT)

    assert form.values["video_url"] == made["clip"].url
    assert not picker_button(form, "video_url").value
    assert described(form, "mk-pick-choose") == []
    until(lambda: "<b>$0.228</b>" in shown(form), form)
    assert f"{PROMPT} · " in shown(form)
    assert "data:image/jpeg" in shown(form)


def test_what_is_made_from_a_chosen_result_is_known_to_be_made_from_its_job(
    own: Client, make_form: Callable[..., Form], made: dict[str, Job]
) -> None:
    form = make_form("video-upscale", video_url=made["clip"].url)
    until(lambda: PROMPT in shown(form), form)
    press_generate(form)

    job_id = form.jobs[0].state.record.id
    parents = tuning.parents(own.components.store, [job_id])
    assert parents == {job_id: (("video_url", made["clip"].id),)}


def test_a_list_of_references_takes_a_chosen_result_into_its_first_free_row(
    make_form: Callable[..., Form], made: dict[str, Job]
) -> None:
    form = make_form("r1", image_urls=["https://a.test/1.png"])
    picker_button(form, "image_urls").value = True
    until(lambda: "a red kite" in described(form, "mk-pick-choose"), form)
    choose(form, "a red kite")

    wanted = ["https://a.test/1.png", made["picture"].url]
    assert form.values["image_urls"] == wanted


def test_a_search_without_results_says_what_to_do(
    make_form: Callable[..., Form],
) -> None:
    form = make_form("video-upscale")
    picker_button(form, "video_url").value = True
    until(lambda: described(form, "mk-pick-choose"), form)
    (search,) = (
        each for each in _all(form.widget) if "mk-pick-search" in each._dom_classes
    )
    search.value = "nothing like this"

    until(lambda: "No clips match. Try fewer words." in shown(form), form)


def button_of(widget: Any, name: str) -> Any:
    (found,) = (
        each
        for each in _all(widget)
        if isinstance(each, ipywidgets.Button) and each.description == name
    )
    return found


def use_as(view: JobView) -> None:
    """Press "Use as…" once the card offers it."""
    offered = "Use as…"
    until(lambda: offered in [getattr(e, "description", "") for e in _all(view.widget)])
    button_of(view.widget, offered).click()


def forms_in(widget: Any) -> list[Any]:
    return [each for each in _all(widget) if "mk-form" in each._dom_classes]


def test_a_card_offers_the_functions_that_take_its_result_and_opens_their_form(
    make_form: Callable[..., Form],
) -> None:
    form = make_form("text-to-video", prompt="a mill", duration=3)
    press_generate(form)
    (view,) = form.jobs
    use_as(view)
    assert button_of(view.widget, "Compose video")
    button_of(view.widget, "Video upscale").click()

    (opened,) = forms_in(view.widget)
    url = url_of(view)
    boxes = (each for each in _all(opened) if isinstance(each, ipywidgets.Text))
    assert url in [box.value for box in boxes]
    assert any(getattr(each, "wanted", False) for each in _all(opened))
    until(lambda: any("$0.228" in text for text in texts(opened)), form)


def url_of(view: JobView) -> str:
    output = view.state.record.output
    assert output is not None
    assert output.file is not None
    return output.file.url


def texts(widget: Any) -> list[str]:
    return [h.value for h in _all(widget) if isinstance(h, ipywidgets.HTML)]


def test_a_card_that_is_closed_closes_the_forms_of_its_result(
    make_form: Callable[..., Form],
) -> None:
    form = make_form("text-to-video", prompt="a well", duration=3)
    press_generate(form)
    (view,) = form.jobs
    use_as(view)
    button_of(view.widget, "Video upscale").click()
    (opened,) = forms_in(view.widget)
    assert opened.comm is not None
    view.close()

    assert opened.comm is None


def test_in_the_studio_the_form_opens_in_the_studio(own: Client) -> None:
    studio = own.studio()
    function = own.catalog.function("text-to-video")
    studio._choose(function.path)
    form = studio.form
    assert form is not None
    until(lambda: form.state.funds.balance is not None, form)
    form.values.update(prompt="a pier", duration=3)
    press_generate(form)
    (view,) = form.jobs
    use_as(view)
    button_of(view.widget, "Video upscale").click()

    assert studio.form is not None
    assert studio.form.function.kind == "video-upscale"
    assert studio.form.values["video_url"] == url_of(view)
    assert forms_in(view.widget) == []
    studio.close()


def test_a_result_is_kept_by_its_job_and_comes_back_where_it_is_now(
    make_form: Callable[..., Form], made: dict[str, Job]
) -> None:
    clip, picture = made["clip"], made["picture"]
    form = make_form("r1", video_urls=[clip], image_urls=["https://a.test/1.png"])
    until(lambda: PROMPT in shown(form), form)
    kept = form._draft.text()

    assert clip.id in kept
    assert str(clip.url) not in kept
    assert "https://a.test/1.png" in kept
    results = make_form("r1")._results
    values = {"tracks": [{"url": f"mediakit-result:{picture.id}", "id": "a"}]}
    assert results.located(values) == {"tracks": [{"url": picture.url, "id": "a"}]}
    assert results.located({"video": "mediakit-result:media_none"}) == {"video": ""}
