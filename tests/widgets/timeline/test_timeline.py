"""What a timeline shows and how edits change a value, without widgets."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mediakit.catalog import REQUEST_TYPES, Catalog
from mediakit.rules import EndsBy, Problem, Spans
from mediakit.schema import FieldSpec
from mediakit.widgets.timeline.edits import edited
from mediakit.widgets.timeline.layout import Timeline, timeline_of
from mediakit.widgets.timeline.static_html import still_html
from mediakit.widgets.timeline.time_axis import Axis, Stretch

COMPOSE = Catalog.default().function("compose-video")
Items = list[dict[str, Any]]


def compose_axis() -> Axis:
    axis = Axis.of(COMPOSE.fields["tracks"], COMPOSE.rules)
    assert axis is not None
    return axis


AXIS = compose_axis()
BLANK = [{"type": "video", "keyframes": [{}]}]
KINDS = st.sampled_from(["video", "image", "audio"])
FEW = st.integers(0, 4)


def key(start: float, length: float, url: str = "https://a.test/a.png") -> Any:
    return {"timestamp": start, "duration": length, "url": url}


def track(name: str, *keyframes: object, kind: str = "image") -> dict[str, Any]:
    return {"id": name, "type": kind, "keyframes": list(keyframes)}


def shown(*tracks: dict[str, Any], problems: tuple[Problem, ...] = ()) -> Timeline:
    return timeline_of(AXIS, list(tracks), problems)


def after(value: object, name: str, **more: object) -> Any:
    """Return the value after an edit, which must fit."""
    done = edited(AXIS, value, {"edit": name, **more})
    assert done is not None
    return done.value


def test_stretches_are_found_by_the_rules_and_not_by_the_functions_name() -> None:
    assert AXIS.spans.inner == "keyframes"
    assert AXIS.end_ms == 1_200_000
    assert AXIS.name == "id"
    for function in Catalog.default():
        axes = [Axis.of(spec, function.rules) for spec in function.fields.values()]
        assert any(axes) == (function.kind == "compose-video")


def test_a_function_in_seconds_has_a_timeline_in_the_same_milliseconds() -> None:
    second = FieldSpec("long", "number", unit="s", required=True)
    scene = FieldSpec("", "object", fields={"at": replace(second), "long": second})
    scenes = FieldSpec("scenes", "list", item=scene, required=True)
    act = FieldSpec("", "object", fields={"scenes": scenes})
    acts = FieldSpec("acts", "list", item=act, required=True)
    rule = EndsBy(Spans("acts", "scenes", "at", "long", "s"), 60)
    axis = Axis.of(acts, [rule])
    assert axis is not None

    value = [{"scenes": [{"at": 1.5, "long": 2}]}]
    seen = timeline_of(axis, value)
    assert (seen.end_ms, seen.limit_ms, seen.kinds) == (3500, 60_000, ("",))
    assert [row.name for row in seen.rows] == ["act 1"]
    put = {"edit": "put", "row": 0, "at": 0, "start_ms": 2300, "length_ms": 2000}
    moved = edited(axis, value, put)
    assert moved is not None
    assert moved.value == [{"scenes": [{"at": 2.3, "long": 2}]}]


def test_rows_have_names_and_blocks_the_names_of_their_files() -> None:
    seen = shown(
        track("stills", key(0, 1000, "https://a.test/b/cat.png?token=1")),
        track("", key(500, 2500.5, "clips/dog.mp4"), {"url": "x"}, kind="video"),
    )

    first, second = seen.rows
    assert (first.name, first.kind, first.medium) == ("stills", "image", "image")
    assert [block.label for block in first.blocks] == ["cat.png"]
    assert (second.name, second.bare) == ("track 2", (1,))
    assert (second.blocks[0].start_ms, second.blocks[0].length_ms) == (500, 2500.5)
    assert seen.end_ms == 3000.5
    assert seen.hint == ""
    assert [block.url for row in seen.rows for block in row.blocks] == [
        "https://a.test/b/cat.png?token=1",
        "clips/dog.mp4",
    ]


@pytest.mark.parametrize("odd", [None, "2", -1, True, float("nan"), 1e300, 10**400])
def test_a_time_that_cannot_be_drawn_leaves_its_keyframe_to_be_placed(
    odd: object,
) -> None:
    (row,) = shown(track("a", {"timestamp": odd, "duration": 5}, key(0, 5))).rows

    assert [block.at for block in row.blocks] == [1]
    assert row.bare == (0,)


def test_overlaps_are_seen_and_said_by_the_rule_before_all_is_filled_in() -> None:
    seen = shown(track("a", key(0, 2000), {"timestamp": 1500, "duration": 3000}, {}))

    (row,) = seen.rows
    assert row.overlaps == (Stretch(1500, 500),)
    assert [bool(block.problem) for block in row.blocks] == [False, True]
    assert seen.problems == (
        "Track 1, keyframe 2, timestamp must be at least 2000 ms, "
        "where track 1, keyframe 1 ends.",
    )


def test_problems_are_said_once_counted_and_what_is_missing_is_none_yet() -> None:
    late = [track("a", key(1_199_000, 2000))]
    problems = tuple(COMPOSE.check({"tracks": late}))
    seen = shown(*late, problems=problems)
    assert problems
    assert seen.limit_ms == 1_200_000
    assert seen.problems == (
        "Track 1, keyframe 1, duration must be short enough to end by 1,200,000 ms "
        "(got an end at 1201000 ms).",
    )
    many = shown(track("a", *[key(n, 1000) for n in range(9)]))
    assert len(many.problems) == 5
    assert many.problems[-1] == "And 4 more like these."
    gap = [track("a", {"timestamp": 0, "duration": 5})]
    missing = tuple(COMPOSE.check({"tracks": gap}))
    assert missing
    assert shown(*gap, problems=missing).problems == ()
    empty = timeline_of(AXIS, BLANK)
    assert empty.hint.startswith("Double-click a row to place its first keyframe")
    assert (empty.problems, empty.cautions, empty.end_ms) == ((), (), 0)


def test_where_nothing_is_seen_is_shown_as_a_caution() -> None:
    seen = shown(
        track("a", key(1000, 1000), key(3000, 1000)),
        track("b", key(1500, 1000), kind="video"),
        track("c", key(0, 5000), kind="audio"),
    )

    assert seen.gaps == (Stretch(0, 1000), Stretch(2500, 500), Stretch(4000, 1000))
    assert seen.cautions[1] == "No picture from 2.5 to 3 s."
    assert shown(track("c", key(5, 5), kind="audio")).gaps == ()


def test_rows_and_blocks_are_offered_up_to_their_bounds() -> None:
    full = track("a", *[key(n, 1) for n in range(32)])
    seen = shown(full, *[track(f"t{n}", key(0, 1)) for n in range(7)])

    assert [row.full for row in seen.rows[:2]] == [True, False]
    assert seen.kinds == ()
    assert shown(full).kinds == ("video", "image", "audio")
    value = [full] * 8
    for edit in ({"edit": "add", "row": 0}, {"edit": "add-item", "kind": "video"}):
        assert edited(AXIS, value, edit) is None


def test_a_block_moves_to_the_millisecond_and_keeps_what_is_not_shown() -> None:
    before = [track("a", key(0, 500.25) | {"volume": 0.5}) | {"mood": "calm"}]

    moved = after(
        before, "put", row=0, at=0, start_ms=2300.0000000004, length_ms=500.25
    )
    assert moved == [track("a", key(2300, 500.25) | {"volume": 0.5}) | {"mood": "calm"}]
    assert isinstance(moved[0]["keyframes"][0]["timestamp"], int)


def test_a_new_block_stands_behind_the_last_or_fills_the_room_where_it_is_put() -> None:
    value = [track("a", key(0, 1000), key(2500, 1000))]

    def times(start_ms: float | None) -> tuple[int, int]:
        new = after(value, "add", row=0, start_ms=start_ms)[0]["keyframes"][2]
        return new["timestamp"], new["duration"]

    assert times(None) == (3500, 2000)
    assert times(1200) == (1200, 1300)
    assert times(500) == (1000, 1500)
    assert times(9000) == (9000, 2000)


def test_the_last_block_of_a_row_leaves_an_empty_one_behind() -> None:
    value = [track("a", key(0, 1), key(1, 1))]

    one = edited(AXIS, value, {"edit": "remove", "row": 0, "at": 1})
    assert one is not None
    assert (one.value, one.chosen) == ([track("a", key(0, 1))], (0, 0))
    none = edited(AXIS, one.value, {"edit": "remove", "row": 0, "at": 0})
    assert none is not None
    assert (none.value, none.chosen) == ([track("a", {})], None)


def test_a_new_row_has_a_name_of_its_own_and_takes_the_place_of_a_blank_one() -> None:
    first = after(BLANK, "add-item", kind="audio")
    assert first == [track("audio-1", {}, kind="audio")]
    named = [track("audio-1", key(0, 1)), track("audio-2", {})]
    assert after(named, "add-item", kind="audio")[2:] == [
        track("audio-3", {}, kind="audio")
    ]


def test_a_still_picture_is_to_scale() -> None:
    html = still_html(AXIS, [track("a", key(0, 1000), key(1000, 3000)), track("b", {})])

    assert "left:25.000%;width:75.000%" in html
    assert "1 to 4 s" in html
    assert still_html(AXIS, BLANK) == ""


@pytest.mark.parametrize(
    "edit",
    [
        {},
        {"edit": "drop-table"},
        {"edit": "choose", "row": 0, "at": 9},
        {"edit": "choose", "row": True, "at": 0},
        {"edit": "choose", "row": -1, "at": 0},
        {"edit": "put", "row": 0, "at": 0, "start_ms": -5, "length_ms": 5},
        {"edit": "put", "row": 0, "at": 0, "start_ms": 0, "length_ms": 0.2},
        {"edit": "put", "row": 0, "at": 0, "start_ms": "0", "length_ms": 5},
        {"edit": "put", "row": 0, "at": 0, "start_ms": 0, "length_ms": float("inf")},
        {"edit": "remove", "row": 3, "at": 0},
        {"edit": "add", "row": None},
        {"edit": "add-item", "kind": "smell"},
        {"edit": "add-item", "kind": ["video"]},
    ],
    ids=str,
)
def test_an_edit_that_does_not_fit_changes_nothing(edit: dict[str, object]) -> None:
    assert edited(AXIS, [track("a", key(0, 1))], edit) is None


times_ms = st.integers(0, 1_000_000) | st.floats(0, 1e6, allow_nan=False)
lengths_ms = st.integers(1, 1_000_000) | st.floats(1, 1e6, allow_nan=False)
keyframes: st.SearchStrategy[Any] = st.builds(key, times_ms, lengths_ms) | st.just({})
tracks = st.lists(
    st.builds(
        lambda name, kind, keys, more: track(name, *keys, kind=kind) | more,
        st.text(min_size=1, max_size=5),
        KINDS,
        st.lists(keyframes, min_size=1, max_size=4),
        st.sampled_from([{}, {"mood": "calm"}]),
    ),
    max_size=3,
)
EDITS = st.one_of(
    st.fixed_dictionaries({"edit": st.just("choose"), "row": FEW, "at": FEW}),
    st.fixed_dictionaries({"edit": st.just("remove"), "row": FEW, "at": FEW}),
    st.fixed_dictionaries(
        {"edit": st.just("add"), "row": FEW, "start_ms": st.none() | times_ms}
    ),
    st.fixed_dictionaries({"edit": st.just("add-item"), "kind": KINDS}),
    st.fixed_dictionaries(
        {
            "edit": st.just("put"),
            "row": FEW,
            "at": FEW,
            "start_ms": times_ms,
            "length_ms": lengths_ms,
        }
    ),
)


def apply(value: Items, edits: list[dict[str, Any]]) -> Items:
    for edit in edits:
        done = edited(AXIS, value, edit)
        value = value if done is None else done.value
    return value


@given(tracks, st.lists(EDITS, max_size=12))
def test_any_edits_give_a_body_that_the_declaration_reads_back_equal(
    value: Items, edits: list[dict[str, Any]]
) -> None:
    kept = copy.deepcopy(value)
    done = apply(value, edits)
    assert value == kept  # the value before is as it was
    done = copy.deepcopy(done)
    for at, each in enumerate(done):
        # What no timeline gives: media, and names for rows without one.
        each.pop("mood", None)
        each["id"] = f"{at}"
        each["keyframes"] = [key(0, 1) | keyframe for keyframe in AXIS.inner(each)]
    body = {"tracks": done or [track("a", key(0, 1))]}

    problems = COMPOSE.check(body)
    outside = {"tracks"}  # only sounds, or too many keyframes: rules, not shapes
    spans = ("timestamp", "duration")
    assert all(p.field in outside or p.field.endswith(spans) for p in problems)
    request = REQUEST_TYPES["compose-video"].model_validate(body)
    assert request.model_dump(mode="json") == body


@given(tracks, st.lists(EDITS, max_size=12))
def test_no_edit_loses_a_property_that_no_timeline_shows(
    value: Items, edits: list[dict[str, Any]]
) -> None:
    edits = [edit for edit in edits if edit["edit"] != "remove"]
    marked = [
        item | {"keyframes": [k | {"volume": [at, n]} for n, k in enumerate(spans)]}
        for at, item in enumerate(value)
        for spans in [AXIS.inner(item)]
    ]

    done = apply(marked, edits)
    for before, now in zip(marked, done, strict=False):
        assert now | {"keyframes": ()} == before | {"keyframes": ()}
        pairs = zip(before["keyframes"], now["keyframes"], strict=False)
        for old, new in pairs:
            assert new["volume"] == old["volume"]
            assert new.get("url") == old.get("url")
    assert len(done) >= len(marked)


@given(tracks, st.lists(EDITS, max_size=12))
def test_what_edits_write_are_whole_milliseconds(
    value: Items, edits: list[dict[str, Any]]
) -> None:
    typed = {k.get(n) for t in value for k in AXIS.inner(t) for n in NAMES}

    written = [
        keyframe[name]
        for each in apply(value, edits)
        for keyframe in AXIS.inner(each)
        for name in NAMES
        if name in keyframe and keyframe[name] not in typed
    ]
    assert all(isinstance(number, int) for number in written)


NAMES = ("timestamp", "duration")
