"""No text from outside becomes markup, in anything that writes HTML."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mediakit import Client
from mediakit.catalog import Catalog
from mediakit.client import JobState
from mediakit.estimates import Estimate, per_second
from mediakit.plots import share
from mediakit.widgets.dashboard.page import plots_html
from mediakit.widgets.dashboard.page import saved_html as month_html
from mediakit.widgets.dashboard.plots import Plot, drawn
from mediakit.widgets.form.html import values_html
from mediakit.widgets.form.state import FormState
from mediakit.widgets.gallery import WallSummary, static_html
from mediakit.widgets.job.card import card_html, waited_html
from mediakit.widgets.job.player import Still, player_html
from mediakit.widgets.job.preview import Preview
from mediakit.widgets.studio.head import saved_html
from mediakit.widgets.timeline.static_html import still_html
from mediakit.widgets.timeline.time_axis import Axis
from mediakit.widgets.toolkit.styles import error_html, line_html
from tests.support.job_states import HOSTILE, Markup, failed, state_of
from tests.support.samples.walls import make_cell, make_poster, wall_of

CATALOG = Catalog.default()
COMPOSE = CATALOG.function("compose-video")
JPEG = base64.b64decode(make_poster(size=(32, 18)).partition(",")[2])
WEB = ("https://", "http://", "data:image/", "data:video/mp4;base64,")


def job_of(text: str) -> JobState:
    return state_of(
        "completed",
        id=text,
        url=text,
        prompt=text,
        kind=text,
        function=text,
        service=text,
        trouble=text,
        body={"duration": text, text: text, "images": [text]},
    )


def walls_of(text: str) -> Iterator[str]:
    cells = [
        make_cell(
            n,
            labels={"animal": text, "light": f"{text} {n}", "size": f"{n} {text}"},
            prompt=f"{n} {text}",
            status=("completed", "failed", "unsent")[n % 3],
            problem=text,
            url=text if n % 2 else "https://a.test/1.mp4",
            poster=text,
            media_type=text if n == 4 else "video",
            tags=(text,),
            note=text,
        )
        for n in range(60)
    ]
    for axes in ((None, None), ("light", "animal"), (None, "light")):
        wall = wall_of(cells, *axes, title=text)
        yield static_html(wall, WallSummary(left=text))


def tracks_of(text: str) -> list[dict[str, Any]]:
    frame = {"timestamp": 0, "duration": 1000, "url": text}
    return [{"id": text, "type": "video", "keyframes": [frame]}]


def timeline_of(text: str) -> str:
    axis = Axis.of(COMPOSE.fields["tracks"], COMPOSE.rules)
    assert axis is not None
    return still_html(axis, tracks_of(text))


def form_of(text: str) -> Iterator[str]:
    values = {"prompt": text, "image_urls": [text], "duration": 5}
    for kind, given_values in (
        ("r1", values),
        ("compose-video", {"tracks": tracks_of(text)}),
    ):
        yield values_html(FormState.start(CATALOG.function(kind), given_values))
    estimate = Estimate.of([per_second(text, 1000, 2000, 68_000)], notes=[text])
    yield estimate._repr_html_()


def studio_of(text: str) -> str:
    row = dict.fromkeys(("title", "function", "state", "charge", "date", "job"), text)
    return saved_html({"service": text, "facts": [{"exact": text}], "rows": [row]})


def month_of(text: str) -> Iterator[str]:
    yield month_html(text, text, None)
    frame = pd.DataFrame({"prompt": [text], text: [text]})

    def draw(axes: Any, _: object) -> Any:
        named = pd.DataFrame({"function": [text], "charge_micro_usd": [1]})
        return share(named, ax=axes, theme="light")

    plot = replace(drawn(text, draw), frame=frame)
    yield plots_html([plot, Plot(text, trouble=text)])
    yield plots_html([plot], saved=True)


PRODUCERS: dict[str, Callable[[str], str | Iterator[str]]] = {
    "card": lambda text: card_html(job_of(text), Preview(JPEG)),
    "card with a player": lambda text: card_html(
        replace(job_of(text), media_type="video"), Preview(JPEG)
    ),
    "card of a failure": lambda text: card_html(
        failed("internal", text, prompt=text * 20)
    ),
    "player": lambda text: player_html(text, "video", still=Still(JPEG, text)),
    "picture": lambda text: player_html(
        f"https://a.test/{text}", "image", still=Still(JPEG, text)
    ),
    "waits": lambda text: waited_html([job_of(text)] * 5),
    "wall": walls_of,
    "timeline": timeline_of,
    "form": form_of,
    "studio": studio_of,
    "dashboard": month_of,
    "lines": lambda text: line_html(text) + error_html(text),
}


def assert_harmless(html: str) -> None:
    page = Markup(html)
    for tag, attributes in page.tags:
        assert tag not in ("script", "iframe", "object", "embed")
        assert not [name for name in attributes if name.startswith("on")]
    assert [url for url in page.addresses() if not url.startswith(WEB)] == []


def pages_of(producer: str, text: str) -> list[str]:
    made = PRODUCERS[producer](text)
    return [made] if isinstance(made, str) else list(made)


@pytest.mark.parametrize("producer", PRODUCERS)
@pytest.mark.parametrize(
    "text",
    [
        HOSTILE,
        "javascript:window.canary=1",
        f"https://x.test/{HOSTILE}",
        'https://a.test/"onload="canary=1',
    ],
)
def test_no_text_from_outside_becomes_markup(producer: str, text: str) -> None:
    pages = pages_of(producer, text)

    for html in pages:
        assert_harmless(html)
    written = "".join(Markup(html).text for html in pages)
    # What is long is cut.
    assert text[:30] in written or producer in ("player", "picture")


@given(text=st.text(max_size=60))
def test_no_text_at_all_becomes_markup_in_a_card(text: str) -> None:
    assert_harmless(card_html(job_of(text)))
    assert_harmless(card_html(job_of(f"https://x.test/{text}")))
    assert_harmless(card_html(failed("internal", text)))


def test_hostile_words_stay_words_in_a_saved_form_and_in_a_frame_of_jobs(
    client: Client, make_form: Callable[..., Any]
) -> None:
    form = make_form("text-to-video", prompt=HOSTILE)
    html = form._repr_mimebundle_()["text/html"]
    assert "<img src=x" not in html
    assert "<script>canary" not in html
    assert "&lt;script&gt;canary" in html
    client.submit("text-to-video", prompt=HOSTILE, duration=3)
    assert_harmless(client.history.frame().to_html())
