"""What the studio lists, shows and keeps, without a kernel."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mediakit.catalog import Catalog, Function
from mediakit.catalog.own_rates import OwnRate
from mediakit.client import BudgetState
from mediakit.errors import InputError
from mediakit.history import Entry, EntryState
from mediakit.history.entry import fresh_entry
from mediakit.money import MicroUSD
from mediakit.records import Balance, JobStatus
from mediakit.schema import Purpose
from mediakit.widgets.form.price.funds import Funds
from mediakit.widgets.studio.catalogue.offers import (
    grouped,
    matching,
    offers_of,
    price_text,
)
from mediakit.widgets.studio.history.query import (
    HOW_TO_BEGIN,
    NO_MATCH,
    PAGE_ROWS,
    HistoryPage,
    HistoryQuery,
)
from mediakit.widgets.studio.history.rows import row_of, settings_of
from mediakit.widgets.studio.spend_summary import (
    UNKNOWN,
    SpendSummary,
)
from tests.support.submissions import submission

CATALOG = Catalog.default()
NOON = datetime(2026, 5, 31, 12, 30, tzinfo=UTC)
URL = "https://a.test/a.mp4"


def entry(number: int = 1, **more: object) -> Entry:
    """Return an entry of the history, in any state."""
    made = fresh_entry(submission(f"k{number}"), number=number, created_at=NOON)
    return replace(made, **more)  # type: ignore[arg-type]


# -- the catalogue


def test_every_function_is_offered_once_under_what_people_want() -> None:
    offers = offers_of(CATALOG)
    groups = grouped(offers)

    assert len({offer.path for offer in offers}) == len(CATALOG)
    assert list(groups) == [each for each in Purpose if each is not Purpose.SOUND]
    assert [each for group in groups.values() for each in group] == list(offers)
    assert "Text to video" in [offer.title for offer in groups[Purpose.WORDS]]
    kinds = [offer.path.split("/")[1] for offer in groups[Purpose.REFERENCES]]
    assert kinds == sorted(kinds)
    assert {"r1", "r1-finalize", "r2", "r3b", "r5b", "r6"} <= {*kinds}
    pictures = [offer.title for offer in groups[Purpose.PICTURE]]
    assert pictures.index("Text to image") < pictures.index("Image to image")


@pytest.mark.parametrize(
    ("kind", "charged"),
    [
        ("compose-video", "$0.0002 a second"),
        ("text-to-video", "from $0.068 a second"),
        ("image-upscale", "from $0.126 an image"),
        ("region-replace", "$0.03 a request"),
        ("r4", "billed by tokens"),
        ("text-to-image", "price unknown; you will be charged"),
    ],
)
def test_how_a_function_is_charged(kind: str, charged: str) -> None:
    assert price_text(CATALOG.function(kind)) == charged
    own = CATALOG.function(kind).priced_at(OwnRate(request_micro_usd=MicroUSD(40_000)))
    assert price_text(own) == "$0.04 a request"


@pytest.mark.parametrize(
    ("text", "titles"),
    [
        ("UPSCALE picture", ["Image upscale"]),
        ("enlarge clip", ["Video upscale"]),
        ("region mask", ["Region replace · video to video"]),
        ("submarine", []),
    ],
)
def test_functions_are_found_by_any_of_their_words(
    text: str, titles: list[str]
) -> None:
    assert [offer.title for offer in matching(offers_of(CATALOG), text)] == titles


# -- the history


def read(query: HistoryQuery, numbers: list[int]) -> HistoryPage:
    """Return what a page shows of a history with these numbers, newest first."""
    wanted = query.wanted
    before = wanted["before"]
    left = [n for n in reversed(numbers) if before is None or n < before.number]
    found = [entry(n) for n in left[: wanted["limit"]]]
    return HistoryPage(query).found(found, ["b"])


@given(st.integers(0, PAGE_ROWS * 4))
def test_pages_show_every_entry_once_there_and_back(count: int) -> None:
    numbers = list(range(count))
    page = read(HistoryQuery(), numbers)
    seen = [each.number for each in page.rows]
    pages = [page]

    while page.has_more:
        page = read(page.next_query(), numbers)
        seen += [each.number for each in page.rows]
        pages.append(page)
    assert seen == numbers[::-1]
    assert page.next_query() == page.query
    if page.has_previous:  # something else begins at the first page
        assert page.query.asking(kind="r1").pages == ()
    turned = pages[0].asking(pages[0].next_query())
    assert turned.next_query() == turned.query  # it is being read
    for earlier in reversed(pages[:-1]):
        page = read(page.previous_query(), numbers)
        assert page.rows == earlier.rows
    assert not page.has_previous


@pytest.mark.parametrize(
    ("page", "said"),
    [
        (HistoryPage(), "Reading the history…"),
        (HistoryPage().found([]), HOW_TO_BEGIN),
        (HistoryPage(HistoryQuery(text=" ")).found([]), HOW_TO_BEGIN),
        (HistoryPage(HistoryQuery(text="kite")).found([]), NO_MATCH),
        (HistoryPage(HistoryQuery(status=JobStatus.FAILED)).found([]), NO_MATCH),
        (HistoryPage().found([entry()]), "1 job · Times are in UTC."),
        (
            HistoryPage().found([entry(n) for n in range(13)]),
            "Jobs 1 to 12 · Times are in UTC.",
        ),
        (HistoryPage().failed("It is away."), "It is away."),
    ],
)
def test_a_page_says_what_it_shows(page: HistoryPage, said: str) -> None:
    assert page.said == said


# -- one submit in words


@pytest.mark.parametrize(
    ("known", "state", "charge"),
    [
        ({}, "No answer yet", "not charged yet"),
        (
            {"status": JobStatus.QUEUED, "job_id": "media_1"},
            "Queued",
            "not charged yet",
        ),
        (
            {"status": JobStatus.COMPLETED, "charge_micro_usd": 340_000},
            "Completed",
            "$0.34",
        ),
        ({"status": JobStatus.FAILED}, "Failed", "not charged"),
        ({"status": JobStatus.FAILED, "charge_micro_usd": 0}, "Failed", "$0.00"),
        ({"state": EntryState.REFUSED}, "Refused", "not charged"),
        (
            {"status": JobStatus.COMPLETED, "deleted_at": NOON, "charge_micro_usd": 1},
            "Erased",
            "$0.000001",
        ),
        (
            {"status": JobStatus.RUNNING, "gone_at": NOON},
            "Gone from the service",
            "charge unknown",
        ),
    ],
)
def test_how_a_submit_stands_and_what_it_cost(
    known: dict[str, object], state: str, charge: str
) -> None:
    row = row_of(entry(**known), CATALOG)  # type: ignore[arg-type]

    assert row.state == state
    assert row.charge == charge


def test_a_result_is_seen_only_while_it_is_there_and_on_the_web() -> None:
    seen = {"output_url": URL, "media_type": "video", "status": JobStatus.COMPLETED}

    def url_of(**more: object) -> str | None:
        return row_of(entry(**(seen | more)), CATALOG).picture_url  # type: ignore[arg-type]

    assert url_of() == URL
    assert url_of(deleted_at=NOON) is None
    assert url_of(gone_at=NOON) is None
    assert url_of(media_type="audio") is None
    assert url_of(output_url="javascript:alert(1)") is None


@pytest.mark.parametrize(
    ("kind", "body", "told"),
    [
        (
            "video-upscale",
            {"video_url": "https://a.test/f/walk.mp4?sig=1", "model": "starlight"},
            "Upscaled: walk.mp4",
        ),
        (
            "keyframes",
            {"images": ["https://a.test/1.png", "https://a.test/2.png"]},
            "Transition: 1.png, 2.png",
        ),
        ("image-upscale", {}, "Image upscale"),
    ],
)
def test_a_row_without_a_prompt_is_titled_by_its_files(
    kind: str, body: dict[str, object], told: str
) -> None:
    function = CATALOG.function(kind)
    raw = json.dumps(body).encode()
    mine = entry(function=function.path, kind=kind, prompt=None, body=raw)

    row = row_of(mine, CATALOG)
    assert row.prompt == told
    assert row.date == "2026-05-31 12:30"
    tokyo = timezone(timedelta(hours=9))
    assert row_of(mine, CATALOG, tokyo).date == "2026-05-31 21:30"


def test_settings_are_the_body_without_where_its_end_is_posted() -> None:
    body = b'{"prompt":"a","webhook_url":"https://a.test/?secret=1"}'

    assert settings_of(entry(body=body)) == {"prompt": "a"}
    with pytest.raises(InputError, match="only its result is known"):
        settings_of(entry(body=b"{}"))


# -- balance and spend


def test_what_was_not_read_is_not_known_and_never_nothing() -> None:
    assert {amount for amount, _, _ in SpendSummary().facts} == {UNKNOWN}
    assert SpendSummary().text.count("unknown") == 4


def test_balance_spend_and_budget_stand_side_by_side() -> None:
    balance = Balance(balance_micro_usd=100_000_000)
    summary = SpendSummary(
        Funds(balance, held_micro_usd=340_000, held_jobs=1),
        today_micro_usd=0,
        month_micro_usd=12_340_000,
        budget=BudgetState(5_000_000, 1_000_000, 340_000),
    )

    assert summary.text == (
        "Balance: $99.66 · Budget: $3.66 left of $5.00 · "
        "Running jobs: 1, $0.34 held · Charged today (UTC): $0.00 · "
        "This month: $12.34"
    )
    quiet = replace(summary, funds=Funds(balance), budget=None)
    assert ("0", "running", "Running jobs: 0") in quiet.facts
    assert [text for text, _, _ in replace(quiet, today_micro_usd=1).facts] == [
        "$100.00",
        "0",
        "<$0.01",
    ]
    unpriced = replace(summary, funds=Funds(balance, held_jobs=34))
    assert ("34", "running", "Running jobs: 34, price unknown") in unpriced.facts


# -- the whole


DECLARED = [function.declared for function in Catalog.default()]
IMAGE = {"type": "string", "format": "uri"}


@pytest.mark.parametrize("declared", DECLARED, ids=lambda each: str(each.kind))
def test_every_declared_function_says_its_purpose_and_when_to_choose_it(
    declared: Any,
) -> None:
    assert declared.purpose in Purpose
    assert 10 < len(declared.choose) < 90
    assert declared.choose.endswith(".")


def made(path: str, required: tuple[str, ...] = (), **properties: object) -> Function:
    schema = {
        "type": "object",
        "properties": properties,
        "required": [*required],
    }
    return Function.from_schema(path, schema)


@pytest.mark.parametrize(
    ("function", "purpose"),
    [
        (made("a/b/words-to-film", prompt={"type": "string"}), Purpose.WORDS),
        (made("a/b/film", image_url=IMAGE), Purpose.PICTURES),
        (made("a/b/film", image_url=IMAGE, audio_url=IMAGE), Purpose.REFERENCES),
        (made("a/b/film", ("video_url",), video_url=IMAGE), Purpose.CHANGE),
        (made("a/b/film", video_url=IMAGE), Purpose.REFERENCES),
        (made("a/b/video-upscaler", video_url=IMAGE), Purpose.ENLARGE),
        (made("a/b/text-to-image", prompt={"type": "string"}), Purpose.PICTURE),
        (made("a/b/text-to-speech", prompt={"type": "string"}), Purpose.SOUND),
    ],
)
def test_a_function_from_a_schema_is_grouped_by_its_name_and_media(
    function: Function, purpose: Purpose
) -> None:
    assert function.purpose is purpose
