"""The timeline of compose-video, by mouse and by keys, and its form."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

import mediakit.widgets.timeline
from mediakit import Client
from mediakit.widgets.controls import held, shown
from tests.browser.geometry import box_of, middle
from tests.browser.harness.wait import until
from tests.browser.modules.bare_page import BarePage
from tests.support.samples.media_samples import make_mp4

pytestmark = pytest.mark.browser

DASH = "\N{EN DASH}"
LOOKED_AT_MS = 1_000
CANARY = "<img src=x onerror='window.canary=1'>"


def key(start_ms: int, duration_ms: int, url: str) -> dict[str, object]:
    return {"timestamp": start_ms, "duration": duration_ms, "url": url}


def track(*keyframes: dict[str, object], name: str = "stills") -> dict[str, object]:
    return {"id": name, "type": "image", "keyframes": list(keyframes)}


PAIR = track(
    key(0, 2000, "https://a.test/cat.png"), key(3000, 2000, "https://a.test/dog.png")
)


class Composition:
    """A form of compose-video with its timeline on a page."""

    def __init__(self, bare: BarePage, client: Client, *tracks: dict[str, Any]) -> None:
        self.page = bare.page
        self.page.set_viewport_size({"width": 800, "height": 1200})
        self.form = client.form("compose-video", tracks=list(tracks))
        self.el = bare.show(self.form.widget).locator(".mk-timeline")
        expect(self.el).to_be_visible()

    def block(self, row: int, at: int) -> Locator:
        return self.el.locator(f".mk-tl-block[data-row='{row}'][data-at='{at}']")

    def drag(self, what: Locator, by_px: float, *, from_end: bool = False) -> None:
        """Drag a block, by its middle or its end."""
        x, y = middle(what)
        if from_end:
            x += box_of(what)["width"] / 2 - 3
        self.page.mouse.move(x, y)
        self.page.mouse.down()
        self.page.mouse.move(x + by_px / 2, y, steps=2)
        self.page.mouse.move(x + by_px, y, steps=2)
        self.page.mouse.up()

    def keyframes(self) -> list[tuple[int | None, int | None]]:
        """Return the start and the length of each keyframe, as the form has them."""
        tracks: Any = self.form.values["tracks"]
        return [
            (each.get("timestamp"), each.get("duration"))
            for one in tracks
            for each in one["keyframes"]
        ]

    def becomes(self, *expected: tuple[int, int]) -> None:
        """Wait until the form has these keyframes."""
        until(self.page, lambda: self.keyframes() == list(expected), self.keyframes)


@pytest.fixture
def compose(bare: BarePage, client: Client) -> Callable[..., Composition]:
    return lambda *tracks: Composition(bare, client, *tracks)


def test_a_composition_grows_on_the_timeline(
    compose: Callable[..., Composition],
) -> None:
    made = compose()
    expect(made.el).to_contain_text("Double-click a row to add its first clip")
    made.el.get_by_role("button", name="Add one more image track").click()
    expect(made.el).to_contain_text("image-1")
    made.page.mouse.dblclick(*middle(made.el.locator(".mk-tl-lane").nth(1)))
    expect(made.block(0, 0)).to_be_focused()
    made.el.get_by_role("button", name="Add a clip").click()
    made.el.get_by_role("button", name="Add one more audio track").click()

    expect(made.el).to_contain_text("2 tracks · 2 clips")
    # The page shows it before the kernel has it.
    lengths = [2000, 2000, None]
    until(made.page, lambda: [each for _, each in made.keyframes()] == lengths)


def test_a_clip_without_a_time_is_placed_after_the_others(
    compose: Callable[..., Composition],
) -> None:
    still: dict[str, object] = {"url": "https://a.test/owl.png"}
    made = compose(track(key(0, 2000, "https://a.test/cat.png"), still))
    made.el.get_by_role("button", name="1 clip without a time").click()
    made.becomes((0, 2000), (2000, 2000))
    expect(made.block(0, 1)).to_contain_text("owl.png")


def test_a_block_is_dragged_and_lengthened_and_the_form_follows(
    compose: Callable[..., Composition],
) -> None:
    made = compose(PAIR)
    second = made.block(0, 1)
    # The folded fields below count the same things by the same name.
    expect(made.page.get_by_text("image · stills · 2 clips")).to_be_visible()

    second.click()
    made.drag(second, box_of(second)["width"] / 4)
    made.becomes((0, 2000), (3500, 2000))
    made.drag(second, -box_of(second)["width"] / 4, from_end=True)
    made.becomes((0, 2000), (3500, 1500))
    # 2055 is nearer to 2100, but the end of the other one holds it.
    made.drag(second, -1445 * box_of(second)["width"] / 1500)
    made.becomes((0, 2000), (2000, 1500))
    made.drag(second, -box_of(second)["width"] / 3)
    expect(made.el).to_contain_text("before clip 1 ends at 2 s")


def test_keys_move_stretch_choose_and_remove_blocks(
    compose: Callable[..., Composition],
) -> None:
    made = compose(PAIR)
    press = made.page.keyboard.press
    made.page.evaluate(
        "() => { window.keys = [];"
        " addEventListener('keydown', event => window.keys.push(event.key)); }"
    )

    made.block(0, 0).click()
    press("ArrowDown")
    expect(made.block(0, 1)).to_be_focused()
    for pressed in ("ArrowRight", "ArrowRight", "Shift+ArrowRight", "ArrowLeft"):
        press(pressed)
    made.becomes((0, 2000), (4100, 2000))
    press("Alt+ArrowRight")
    press("Alt+Shift+ArrowLeft")
    made.becomes((0, 2000), (4100, 1100))
    press("Delete")
    expect(made.block(0, 1)).to_have_count(0)
    expect(made.block(0, 0)).to_be_focused()
    made.becomes((0, 2000))
    assert set(made.page.evaluate("window.keys")) <= {"Shift", "Alt"}


def test_changes_are_undone_one_by_one_back_to_a_change_elsewhere(
    compose: Callable[..., Composition],
) -> None:
    made = compose(PAIR)
    press = made.page.keyboard.press
    second = made.block(0, 1)

    made.drag(second, box_of(second)["width"] / 4)  # in several steps, one change
    press("ArrowRight")
    made.becomes((0, 2000), (3600, 2000))
    press("Delete")
    made.becomes((0, 2000))
    made.el.get_by_role("button", name="Add one more audio track").click()
    expect(made.el).to_contain_text("2 tracks")
    press("Control+z")
    expect(made.el).to_contain_text("1 track ·")
    press("Control+z")
    made.becomes((0, 2000), (3600, 2000))
    assert (
        made.form.values["tracks"][0]["keyframes"][1]["url"] == "https://a.test/dog.png"
    )
    press("Control+z")
    made.becomes((0, 2000), (3500, 2000))
    press("Control+z")
    made.becomes((0, 2000), (3000, 2000))
    press("Control+z")
    made.becomes((0, 2000), (3000, 2000))

    # A cancelled drag has no effect.
    x, y = middle(second)
    made.page.mouse.move(x, y)
    made.page.mouse.down()
    made.page.mouse.move(x + 60, y, steps=2)
    press("Escape")
    made.page.mouse.up()
    made.becomes((0, 2000), (3000, 2000))
    press("ArrowRight")
    made.becomes((0, 2000), (3100, 2000))
    made.form.values["tracks"] = [track(key(0, 2000, "https://a.test/owl.png"))]
    made.becomes((0, 2000))
    expect(second).to_have_count(0)
    made.block(0, 0).focus()
    press("Control+z")
    made.page.wait_for_timeout(200)
    assert made.keyframes() == [(0, 2000)]


def test_without_its_kernel_a_timeline_is_read_only_and_says_so(
    compose: Callable[..., Composition],
) -> None:
    made = compose(PAIR)
    made.el.evaluate("root => root.classList.add('mk-gone')")
    second = made.block(0, 1)
    before = box_of(second)["width"]

    made.drag(second, 100)
    expect(made.el).to_contain_text("The kernel was restarted")
    second.focus()
    made.page.keyboard.press("ArrowRight")
    expect(second).to_contain_text(f"3 {DASH} 5 s")
    assert box_of(second)["width"] == before
    assert made.keyframes() == [(0, 2000), (3000, 2000)]


def test_names_with_markup_stay_text(compose: Callable[..., Composition]) -> None:
    script = 'https://a.test/"><script>window.canary=1</script>'
    made = compose(
        track(
            key(0, 2000, CANARY),
            key(2000, 2000, "javascript:window.canary=1"),
            key(4000, 2000, script),
            name=CANARY,
        )
    )

    expect(made.el).to_contain_text(CANARY)
    made.block(0, 1).click()
    expect(made.block(0, 1)).to_have_attribute("aria-pressed", "true")
    assert made.page.evaluate("() => window.canary") is None
    assert made.el.locator("script").count() == 0


def test_long_compositions_are_zoomed_and_scrolled(
    compose: Callable[..., Composition],
) -> None:
    made = compose(
        *(
            track(
                *(
                    key(k * 20_000 + t * 2_000, 15_000, "https://a.test/a.png")
                    for k in range(4)
                ),
                name=f"track {t}",
            )
            for t in range(8)
        )
    )
    last = made.block(7, 3)
    before = box_of(last)["width"]

    expect(made.el.locator(".mk-tl-block")).to_have_count(32)
    last.click()
    zoom_in = made.el.get_by_role("button", name="Zoom in")
    for _ in range(3):
        zoom_in.click()
    assert box_of(last)["width"] > before * 3
    expect(last).to_be_in_viewport()
    made.el.get_by_role("button", name="Fit all into view").click()
    assert abs(box_of(last)["width"] - before) < 1
    last.focus()
    made.page.keyboard.press("Home")
    expect(made.block(0, 0)).to_be_focused()
    expect(made.block(0, 0)).to_be_in_viewport()


def test_a_new_block_takes_the_length_of_its_clip_unless_the_user_set_one(
    compose: Callable[..., Composition], tmp_path: Path
) -> None:
    clip = str(make_mp4(tmp_path / "clip.mp4", (64, 48), 3.5))
    made = compose()
    place = made.el.get_by_role("button", name="Add a clip")
    url = made.page.locator(".mk-chosen .mk-chosen").get_by_label("URL *")
    made.el.get_by_role("button", name="Add one more video track").click()
    place.click()
    made.becomes((0, 2000))
    url.fill(clip)
    made.becomes((0, 3500))
    place.click()
    made.becomes((0, 3500), (3500, 2000))
    made.block(0, 1).press("Alt+ArrowLeft")
    url.fill(clip)
    made.becomes((0, 3500), (3500, 1900))
    made.page.wait_for_timeout(LOOKED_AT_MS)
    assert made.keyframes() == [(0, 3500), (3500, 1900)]


def test_times_are_typed_and_shown_in_seconds_and_sent_in_milliseconds(
    compose: Callable[..., Composition],
) -> None:
    made = compose(PAIR)
    made.block(0, 1).click()
    chosen = made.page.locator(".mk-chosen .mk-chosen")
    start, length = (
        chosen.get_by_label(f"{name} (s) *") for name in ("Start", "Duration")
    )
    expect(start).to_have_value("3")
    expect(length).to_have_value("2")
    start.press("End")
    start.press_sequentially(".25")
    made.becomes((0, 2000), (3250, 2000))
    expect(start).to_have_value("3.25")
    expect(made.block(0, 1)).to_contain_text("3.25")
    folded = made.page.get_by_role("button", name="Clip 1 · start 0 s · duration 2 s")
    expect(folded).to_be_visible()
    length.fill("soon")
    expect(made.page.get_by_text("Must be a number").first).to_be_visible()
    # What to correct is said once.
    expect(made.page.locator(".mk-price")).to_contain_text("Correct the tracks")
    expect(made.page.locator(".mk-reason")).to_be_empty()
    length.fill("6.1")
    made.becomes((0, 2000), (3250, 6100))
    made.block(0, 1).press("Alt+ArrowRight")
    made.becomes((0, 2000), (3250, 6200))
    expect(length).to_have_value("6.2")


# Places, moves and adds at random; returns all values, and whether an earlier one
# changed.
WALK = """([source, spec, rows, seed]) => {
    const spans = new (new Function(`${source}; return Spans;`)())(spec);
    const drawn = () => (seed = (seed * 1103515245 + 12345) % 2147483648) / 2147483648;
    const whole = (most) => Math.floor(drawn() * (most + 1));
    const walked = [rows];
    for (let turn = 0; turn < 150; turn += 1) {
        const [kept, row] = [JSON.stringify(rows), whole(rows.length - 1)];
        const some = spans.of(rows[row]);
        const times = { start_ms: 9999 * drawn(), length_ms: 1 + 9999 * drawn() };
        const place = spans.newPlace(rows, row);
        const room = spans.room(rows[row], drawn() < 0.5 ? null : times.start_ms);
        const next = [
            () => spans.put(rows, [row, whole(some.length - 1)], times),
            () => (place ? spans.put(rows, place, room) : rows),
            () => (rows.length < 8 ? spans.addItem(rows, "image") : rows),
        ][whole(2)]();
        if (JSON.stringify(rows) !== kept) throw new Error("the value before changed");
        walked.push((rows = next));
    }
    return walked;
}"""


def test_edits_keep_fields_that_no_timeline_shows_and_times_are_whole_milliseconds(
    compose: Callable[..., Composition],
) -> None:
    made = compose()
    function = made.form.function
    [field] = made.form.widget.form["schema"]["fields"]
    source = Path(mediakit.widgets.timeline.__path__[0], "spans.js").read_text("utf-8")
    spec = function.fields["tracks"]
    begun = [
        {"type": kind, "id": kind, "mood": at, "keyframes": [{"volume": at}, {}]}
        for at, kind in enumerate(("video", "image", "audio"))
    ]
    for seed in range(8):
        rows = shown(spec, begun)
        for wire in made.page.evaluate(WALK, [source, field, rows, seed]):
            value: Any = held(spec, wire)
            assert [each.get("mood") for each in value][:3] == [0, 1, 2]
            volumes = [each["keyframes"][0].get("volume") for each in value]
            assert volumes[:3] == [0, 1, 2]
            names = [each["id"] for each in value]
            assert len(set(names)) == len(names)
            times = [
                keyframe.get(name)
                for each in value
                for keyframe in each["keyframes"]
                for name in ("timestamp", "duration")
            ]
            assert all(ms is None or (isinstance(ms, int) and ms >= 0) for ms in times)
            found = {p.field for p in function.check({"tracks": value}) if p.got}
            ends = ("timestamp", "duration", "mood", "volume", "tracks")
            assert all(name.endswith(ends) for name in found), found
