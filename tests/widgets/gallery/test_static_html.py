"""The contents and layout of a wall, and its static copy in a saved notebook."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mediakit.errors import InputError
from mediakit.widgets.gallery import WallCell, WallSummary, static_html
from mediakit.widgets.gallery.cells import header_of
from mediakit.widgets.gallery.layout import PAGE_CELLS, arranged
from mediakit.widgets.gallery.static_html import small_posters, static_text
from mediakit.widgets.gallery.text_differences import marked
from tests.support.job_states import Markup
from tests.support.samples.walls import make_cell, make_cells, make_poster, wall_of

MAX_NOTEBOOK_BYTES = 300_000


def saved(*given: Any, **more: Any) -> str:
    return static_html(wall_of(*given, **more))


def tags_of(page: Markup, name: str) -> list[dict[str, str | None]]:
    return [attributes for tag, attributes in page.tags if tag == name]


def test_rows_and_columns_come_in_the_order_of_the_cells() -> None:
    arrangement = arranged(make_cells(), "light", "animal")

    assert arrangement.rows == ("dawn", "storm light")
    assert arrangement.cols == ("kite", "hot air balloon", "gull")
    assert arrangement.places == ((0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2))
    assert not arrangement.shows_prompt
    flow = arranged(make_cells())
    assert flow.shows_prompt
    assert flow.captions == ("",) * 6  # what varies is in the prompts
    takes = [make_cell(n, take=12 - n) for n in range(12)]
    assert arranged(takes, "take").rows[:3] == ("take 1", "take 2", "take 3")


def test_other_axes_and_takes_become_captions() -> None:
    cells = [
        make_cell(
            n,
            labels={"animal": "kite", "duration": str(n // 2), "loop": "True"},
            prompt="a kite",
            take=1 + n % 2,
        )
        for n in range(4)
    ]
    arrangement = arranged(cells, cols="animal")

    assert arrangement.captions[3] == "duration 1 · take 2"
    assert arrangement.names[0] == "duration 0, take 1"


@pytest.mark.parametrize(
    ("axes", "words"),
    [
        (("colour", None), "rows must be .*animal, light, take, prompt"),
        ((None, "colour"), "cols must be"),
        (("light", "light"), "a different axis"),
    ],
)
def test_an_unknown_axis_is_rejected_with_a_readable_message(
    axes: tuple[str | None, str | None], words: str
) -> None:
    with pytest.raises(InputError, match=words):
        arranged(make_cells(), *axes)


@given(st.lists(st.integers(1, 130), max_size=12))
def test_pages_hold_whole_rows_and_each_cell_once(rows: list[int]) -> None:
    cells = [
        WallCell(1000 * row + at, labels={"row": str(row)})
        for row, count in enumerate(rows)
        for at in range(count)
    ]
    arrangement = arranged(cells, rows="row" if cells else None)

    pages = arrangement.pages()

    assert [at for page in pages for at in page] == list(range(len(cells)))
    assert all(0 < len(page) <= PAGE_CELLS for page in pages)
    for row, count in enumerate(rows):
        on = [
            page for page in pages if any(cells[a].index // 1000 == row for a in page)
        ]
        assert len(on) == -(-count // PAGE_CELLS)


PROMPTS = st.lists(
    st.text(alphabet="ab c,.\n", max_size=40)
    | st.sampled_from(
        ["a kite over dunes", "a gull over dunes", "a kite over the sea"]
    ),
    max_size=6,
)


@given(PROMPTS)
def test_the_pieces_of_a_text_are_the_text(texts: list[str]) -> None:
    pieces = marked(texts)

    assert ["".join(text for text, _ in each) for each in pieces] == texts


def test_the_words_that_differ_are_marked_and_no_others() -> None:
    texts = [
        "a kite over dunes, dawn",
        "a hot air balloon over dunes, storm light",
        "a gull over dunes, dawn",
    ]

    own = [[text for text, differs in each if differs] for each in marked(texts)]

    assert own == [
        ["kite", "dawn"],
        ["hot air balloon", "storm light"],
        ["gull", "dawn"],
    ]
    assert marked(["a kite", "dunes, dawn"])[0] == [("a kite", False)]


def test_the_header_counts_cells_and_describes_the_rest() -> None:
    cells = make_cells()
    cells[0] = replace(cells[0], keep=True)
    cells[3:] = [
        make_cell(3, status="running"),
        make_cell(4, status="failed"),
        make_cell(5, status="unsent"),
    ]
    summary = WallSummary(
        owned=2, spent="$0.61", spent_note="spent of $3.00", left="about 20 s left"
    )

    header = header_of(cells, summary)

    assert header.figures == (
        ("6", "cells"),
        ("2", "already yours · $0"),
        ("$0.61", "spent of $3.00"),
        ("1", "kept"),
    )
    assert header.progress == (
        "3 of 6 done · 1 running · 1 failed · 1 not sent · about 20 s left"
    )
    assert (header.completed, header.running, header.failed) == (3, 1, 1)


def test_the_static_twin_has_the_grid_with_players_ratings_prices_and_links() -> None:
    cells = make_cells(poster=make_poster())
    cells[1] = replace(cells[1], rating=4, keep=True, tags=("sharp",), note="Good.")
    cells[2] = make_cell(2, status="failed", problem="Rejected: content", url=None)
    cells[3] = make_cell(3, media_type="image", url="https://a.test/3.png")
    cells[4] = make_cell(4, media_type="audio", url="https://a.test/4.mp3")

    html = saved(cells, "light", "animal", title="A sweep")
    page = Markup(html)

    assert html.count("<tr>") == 3
    heads = [tag["scope"] for tag in tags_of(page, "th")]
    assert heads == ["col", "col", "col", "row", "row"]
    videos = tags_of(page, "video")
    sources = [f"https://a.test/{n}.mp4" for n in (0, 1, 5)]
    assert [video["src"] for video in videos] == sources
    assert {video["preload"] for video in videos} == {"none"}
    assert all((v["poster"] or "").startswith("data:image/jpeg") for v in videos)
    assert tags_of(page, "audio")[0]["src"] == "https://a.test/4.mp3"
    assert {link["href"] for link in tags_of(page, "a")} >= {
        *sources,
        "https://a.test/3.png",
    }
    for text in ("★★★★☆", "kept", "#sharp", "Good.", "Rejected: content", "<b>6</b>"):
        assert text in html
    assert html.replace("<span>$</span>", "$").count("$0.20") == 6
    styles = [attributes.get("style") or "" for _, attributes in page.tags]
    themed = [style for style in styles if "var(--" in style]
    assert themed  # and each has a plain colour for where there is no theme
    assert all(re.search(r"color:#\w+;color:var\(", style) for style in themed)
    assert "There are no cells." in saved([], "light", "animal")


def test_the_browser_gets_no_address_but_those_of_the_web() -> None:
    script = "javascript:window.canary=1"
    cells = [make_cell(0, url=script, poster=script), make_cell(1, poster="<img>")]
    first, second = map(wall_of(cells).cell, range(2))

    assert "not a web address" in first["problem"]
    assert {"url", "poster"}.isdisjoint(first)
    assert "poster" not in second
    hub = {"JUPYTERHUB_SERVICE_PREFIX": "/user/ann/"}
    own = [make_cell(0, url="http://127.0.0.1:8123/files/0.mp4")]
    html = saved(own, environment=hub)
    assert 'src="/user/ann/proxy/8123/files/0.mp4"' in html


@pytest.mark.parametrize(
    ("count", "length"),
    [
        (5_000, 20),
        (500, 20_000),
        pytest.param(5_000, 20_000, marks=pytest.mark.soak),
    ],
)
def test_the_size_is_bounded_whatever_the_number_of_cells(
    count: int, length: int
) -> None:
    poster = make_poster()
    cells = [
        make_cell(
            n,
            labels={"text": f"{n} {'x' * length}"},
            prompt="p" * length,
            url=f"https://a.test/{n}.mp4?signature={'s' * min(length, 1_000)}",
            poster=poster,
            tags=("t" * length,),
            note="n" * length,
            problem="w" * length,
        )
        for n in range(count)
    ]

    html = saved(cells)

    assert len(json.dumps(html, ensure_ascii=False).encode()) < MAX_NOTEBOOK_BYTES
    assert "more cells are not shown here" in html


def test_posters_shrink_until_all_have_room() -> None:
    posters = [make_poster((n, 100, 200)) for n in range(40)]

    others = [None, "https://a.test/p.jpg", "javascript:x", "data:image/png,%00"]
    small = small_posters([*posters, *others], 60_000)

    assert set(small) == {*posters, "https://a.test/p.jpg"}
    assert small["https://a.test/p.jpg"] == "https://a.test/p.jpg"
    assert sum(len(small[poster]) for poster in posters) <= 60_000


@pytest.mark.parametrize(
    ("status", "is_dated"),
    [("planned", True), ("queued", True), ("running", True), ("unsent", False)],
)
def test_a_copy_of_a_wall_that_may_change_says_when_it_was_written(
    status: Any, *, is_dated: bool
) -> None:
    cells = [make_cell(0), make_cell(1, status=status, url=None)]
    at = datetime(2026, 3, 1, 23, 18, 49, tzinfo=UTC)
    dated = "As of 2026-03-01 23:18 UTC. Run the cell again"
    page = Markup(static_html(wall_of(cells), as_of=at))
    assert (dated in page.text) == is_dated
    assert (dated in static_text(cells, as_of=at)) == is_dated
