"""The wall of a sweep, by keys and by mouse, and its Python side."""

from __future__ import annotations

import asyncio
import re
import string
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from mediakit.history import Preference
from mediakit.widgets.gallery import (
    Done,
    Gallery,
    Made,
    Offer,
    WallActions,
    WallCell,
    WallSummary,
)
from mediakit.widgets.gallery.cells import FIRST_EXTRA
from tests.browser.geometry import box_of, layout_faults, nameless
from tests.browser.harness import video_facts
from tests.browser.harness.wait import becomes, rest, until
from tests.browser.modules.bare_page import BarePage
from tests.support.samples.media_samples import make_mp4, make_png, make_wav
from tests.support.samples.walls import make_cell, make_poster
from tests.support.servers.file_server import FileServer
from tests.support.soak import trials
from tests.support.submissions import preference

pytestmark = pytest.mark.browser

COLOURS = ("teal", "orange")
# Only the soak compares positions within a clip, which takes a longer one.
CLIP_S = trials(1, 4)
FRAME_S = 1 / 24
CANARY = "<img src=x onerror='window.canary=1'><b class=bird>bird</b>"
SCRIPT = "javascript:window.canary=1"
RAISES = "Raise the budget to $3.06 and send (R) · $0.34"
TITLE = "Sweep · a {animal} over dunes, {light}"
# All positions at one instant, again and again from when all play after the seek.
POSITIONS = """async ([goal, samples]) => {
    const players = [...document.querySelectorAll("dialog video")];
    const slider = document.querySelector("dialog input[type=range]");
    slider.value = goal;
    slider.dispatchEvent(new Event("input"));
    const there = player => !player.seeking && !player.paused
        && Math.abs(player.currentTime - goal) < 0.6;
    const end = performance.now() + 20_000;
    while (!players.every(there)) {
        if (performance.now() > end) return [];
        await new Promise(requestAnimationFrame);
    }
    const positions = [];
    for (let n = 0; n < samples; n += 1) {
        positions.push(players.map(player => player.currentTime));
        await new Promise(resolve => setTimeout(resolve, 50));
    }
    return positions;
}"""
FOUND = """root => {
    const found = window.canary ? ["it was executed"] : [];
    const safe = /^(https?:|data:image\\/jpeg|$)/;
    for (const each of root.querySelectorAll("*")) {
        if (each.matches("script, .bird")) found.push(each.outerHTML);
        for (const { name, value } of each.attributes) {
            if (name.startsWith("on")) found.push(each.outerHTML);
            if (["href", "src", "poster"].includes(name) && !safe.test(value))
                found.push(each.outerHTML);
        }
    }
    return found;
}"""
# Presses each key on a tile, and then on whatever that has opened. Returns the keys
# that reached the page, and the keys that had an effect.
PRESSED = """async (tile, keys) => {
    window.keys = [];
    addEventListener("keydown", event => window.keys.push(event.key));
    const press = (key) => document.activeElement.dispatchEvent(
        new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
    const meant = [];
    for (const key of keys) {
        tile.focus();
        if (!press(key)) meant.push(key);
        press(key);
        press("Escape");
        document.querySelector("dialog")?.close();
        document.querySelector("[popover]")?.hidePopover();
        for (let n = 0; n === 0 || document.querySelector("dialog"); n += 1) {
            if (n > 1_000) throw new Error(`a dialog stays after ${key}`);
            await new Promise(resolve => setTimeout(resolve));
        }
    }
    return [window.keys, meant];
}"""
POSTER = make_poster(size=(32, 18))
ANSWERS_S, LATE_MS = 60.0, 30_000
FOCUSED = "() => document.activeElement.className"


@pytest.fixture(scope="module")
def media(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve a clip under six names, two pictures and a sound; return their base URL."""
    folder = tmp_path_factory.mktemp("media")
    clip = make_mp4(folder / "clip.mp4", (160, 90), CLIP_S, 24).read_bytes()
    for n, colour in enumerate(COLOURS):
        make_png(folder / f"{n}.png", (160, 90), colour)
    make_wav(folder / "0.wav")
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    files |= {f"{n}.mp4": clip for n in range(6)}
    with FileServer(files) as server:
        yield server.url("").rstrip("/")


class Wall:
    """A wall on a page, and its calls in Python.

    Args:
        bare: The page.
        media: Where its media are.
    """

    def __init__(self, bare: BarePage, media: str) -> None:
        self.bare, self.page, self.media = bare, bare.page, media
        self.calls: list[Any] = []
        self.exported = "Saved 6 files."
        self.take = "Another take · $0.20"
        self.sum = "$0.60"

    def cell(self, n: int, **more: Any) -> WallCell:
        media = {"url": f"{self.media}/{n % 6}.mp4", "poster": POSTER}
        return make_cell(n, **{**media, **more})

    async def judge(self, job_id: str, **changes: Any) -> None:
        self.calls.append((job_id, changes))

    async def prefer(self, winner: str, loser: str, *, tie: bool) -> Preference:
        self.calls.append((winner, loser, tie))
        return preference(winner, loser, tie=tie)

    async def retry(self, cell: int, text: str) -> str:
        self.calls.append(cell)
        return ""

    async def export(self) -> Done:
        return Done(self.exported)

    async def rest(self, text: str) -> str:
        self.calls.append(text)
        return "Sending 3 cells."

    async def stop(self) -> str:
        self.calls.append("stop")
        return "Stopped."

    async def offers(self, job_id: str) -> list[Offer]:
        return [
            Offer("take", self.take, "Once more", is_paid=True),
            Offer("use:a/b/upscale", "Video upscale", "Open a form"),
            Offer("download", "Download", "Save it", file=f"{job_id}.mp4"),
        ]

    async def joint_offers(self, job_ids: Sequence[str]) -> list[Offer]:
        each = Offer("take", "Another take", "Once more", is_paid=True)
        text = f"Another take of {len(job_ids)} results · {self.sum}"
        return [each._replace(text=text, parts=tuple((id_, each) for id_ in job_ids))]

    async def resend_text(self, cells: Sequence[int]) -> str:
        return f"Retry {len(cells)} · $0.10"

    async def resend(self, cells: Sequence[int], text: str) -> str:
        self.calls.append((*cells, text))
        return "Sending them again."

    async def act(self, job_id: str, offer: Offer) -> Done:
        self.calls.append((job_id, offer.name))
        return Done(f"Done: {offer.text}")

    async def made(self) -> list[Made]:
        return []

    def show(self, cells: list[WallCell] | None = None, **more: Any) -> Gallery:
        """Show it; six cells in two rows when none are given."""
        if cells is None:
            cells = [self.cell(n) for n in range(6)]
            more = {"rows": "light", "cols": "animal", **more}
        actions = WallActions(
            retry=self.retry,
            resend_text=self.resend_text,
            resend=self.resend,
            rest=self.rest,
            stop=self.stop,
            export=self.export,
            tile=self,
        )
        summary = WallSummary(owned=2, spent="$1.20")
        usual = {
            "title": TITLE,
            "summary": summary,
            "judge": self.judge,
            "prefer": self.prefer,
            "actions": actions,
        }
        self.gallery = Gallery(cells, **{**usual, **more})
        self.el = self.bare.show(self.gallery.widget).locator(".mk-wall")
        expect(self.el).to_be_visible()
        return self.gallery

    def has_called(self, *calls: object) -> None:
        """Wait until this was called in Python, which the page may show before."""
        until(self.page, lambda: self.calls == [*calls], lambda: self.calls)

    def tile(self, index: int) -> Locator:
        return self.el.locator(f".mk-wall-tile[data-index='{index}']")

    @property
    def dialog(self) -> Locator:
        return self.el.get_by_role("dialog")

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def tab_to_tiles(self) -> None:
        """Reach the cells from the first button with the Tab key alone."""
        self.el.get_by_role("button", name="Play all").focus()
        for _ in range(12):
            self.press("Tab")
            if "mk-wall-tile" in self.page.evaluate(FOCUSED):
                return
        raise AssertionError("The Tab key does not reach the cells.")


@pytest.fixture
def wall(bare: BarePage, media: str) -> Wall:
    return Wall(bare, media)


def test_ratings_tags_and_notes_by_keyboard_reach_python(
    wall: Wall,
) -> None:
    wall.show()
    wall.tab_to_tiles()
    expect(wall.tile(0)).to_be_focused()

    wall.press("4", "k", "ArrowRight", "2", "3", "ArrowDown", "5", "0", "ArrowLeft")
    expect(wall.tile(3)).to_be_focused()
    wall.press("t")
    wall.page.keyboard.type("ab, c")
    wall.press("Enter")
    expect(wall.tile(3)).to_be_focused()
    wall.press("n")
    wall.page.keyboard.type("2k odd.")
    wall.press("Enter", "n")
    wall.page.keyboard.type("no")
    wall.press("Escape")

    expect(wall.tile(0)).to_have_accessible_name(
        "kite, dawn, video, 4 of 5 stars, kept, $0.20"
    )
    expect(wall.el.get_by_role("grid")).to_have_accessible_name(TITLE)
    expect(wall.el.locator("[aria-live=polite]")).to_contain_text("note saved")
    expect(wall.tile(3)).to_contain_text("2k odd.")
    wall.has_called(
        ("media_0", {"rating": 4}),
        ("media_0", {"keep": True}),
        ("media_1", {"rating": 2}),
        ("media_1", {"rating": 3}),
        ("media_4", {"rating": 5}),
        ("media_4", {"rating": None}),
        ("media_3", {"tags": ("ab", "c")}),
        ("media_3", {"note": "2k odd."}),
    )


def test_a_change_that_was_not_saved_is_reported_first_and_the_rating_is_reset(
    wall: Wall,
) -> None:
    async def fail(*_: object, **more: object) -> None:
        raise OSError(28, "No space left")

    wall.show(judge=fail, prefer=fail)
    wall.tile(0).focus()
    wall.press("5")

    expect(wall.el.get_by_role("alert")).to_have_text("No space left.")
    expect(wall.tile(0)).to_have_accessible_name("kite, dawn, video, $0.20")

    wall.press("b")
    expect(wall.dialog).to_contain_text("15 pairs left")
    wall.press("1")
    said = wall.dialog.get_by_role("alert")
    expect(said).to_have_text("The preference was not saved: No space left.")
    wall.press("Escape")
    expect(wall.dialog).to_have_count(0)


def test_a_failed_job_is_not_rated_or_kept_by_any_key_and_the_wall_says_why(
    wall: Wall,
) -> None:
    failed = {"status": "failed", "url": None, "poster": None}
    cells = [
        wall.cell(1, problem="No luck.", **failed),
        wall.cell(2, rating=3, **failed),
    ]
    wall.show([wall.cell(0), *cells])
    why = wall.el.get_by_text("This job failed, so there is no result to rate or keep.")
    spoken = wall.el.locator("[aria-live=polite]")
    for key, said in (("4", "rated 4 of 5"), ("k", "kept")):
        wall.tile(0).focus()
        wall.press(key)
        expect(why).to_be_hidden()
        expect(spoken).to_contain_text(said)
        wall.tile(1).focus()
        wall.press(key)
        expect(why).to_be_visible()
    # An earlier rating can be undone.
    wall.tile(2).focus()
    wall.press("0")
    expect(why).to_be_hidden()
    wall.has_called(
        ("media_0", {"rating": 4}),
        ("media_0", {"keep": True}),
        ("media_2", {"rating": None}),
    )


def test_an_error_stays_visible_while_an_earlier_reply_is_late(wall: Wall) -> None:
    answers = threading.Event()

    async def judge(*_: object, **more: object) -> None:
        await asyncio.to_thread(answers.wait, ANSWERS_S)

    wall.page.clock.install(time=0)
    failed = wall.cell(1, status="failed", url=None, problem="No luck.")
    wall.show([wall.cell(0), failed], judge=judge)
    why = wall.el.get_by_role("alert")
    for number in range(2):
        wall.tile(number).focus()
        wall.press("4")
    expect(why).to_contain_text("there is no result to rate")
    wall.page.clock.run_for(LATE_MS)
    expect(why).to_contain_text("there is no result to rate")
    answers.set()
    expect(wall.el.locator("[aria-live=polite]")).to_contain_text("rated 4 of 5")
    expect(why).to_contain_text("there is no result to rate")


def test_the_focus_is_visible_and_space_plays(wall: Wall) -> None:
    wall.show()
    wall.tab_to_tiles()
    outline = "root => getComputedStyle(root.querySelector('.mk-wall-media')).outline"

    assert "solid 2px" in wall.tile(0).evaluate(outline)
    assert "none" in wall.tile(1).evaluate(outline)
    wall.press(" ")
    playing = "root => !root.querySelector('video').paused"
    wall.page.wait_for_function(
        f"root => ({playing})(root)", arg=wall.tile(0).element_handle()
    )
    video = wall.tile(0).locator("video")
    assert video.get_attribute("src") == f"{wall.media}/0.mp4"
    assert video.get_attribute("preload") == "none"
    assert video.evaluate("v => [v.muted, v.loop, v.playsInline]") == [True] * 3
    wall.press(" ")
    assert not wall.tile(0).evaluate(playing)
    assert video_facts(wall.page, ".mk-wall video").shows_a_picture


@pytest.mark.soak
def test_after_a_seek_six_videos_play_within_a_frame_of_each_other(
    wall: Wall, tell: Callable[[str], None]
) -> None:
    wall.show()
    wall.tab_to_tiles()
    for _ in range(6):
        wall.press("s", "ArrowRight")
    wall.press("c")
    expect(wall.dialog.locator("video")).to_have_count(6)
    expect(wall.dialog.get_by_role("button", name="Play")).to_be_enabled()
    wall.press(" ")
    expect(wall.dialog.get_by_role("button", name="Pause")).to_be_visible()

    spreads = []
    for goal_s in (2.0, 0.5, 1.5):
        positions = wall.page.evaluate(POSITIONS, [goal_s, 20])
        assert len(positions) == 20, "the players did not all go on after the seek"
        assert positions[-1][0] > positions[0][0], "they stand still"
        spreads.append(max(max(each) - min(each) for each in positions))
    tell(f"6 videos after a seek: within {1000 * max(spreads):.1f} ms of each other")

    assert max(spreads) < FRAME_S, spreads
    wall.press("Escape")
    expect(wall.dialog).to_have_count(0)
    assert "mk-wall-tile" in wall.page.evaluate(FOCUSED)


def test_two_videos_or_pictures_are_compared_with_a_slider(wall: Wall) -> None:
    pictures = {"media_type": "image", "poster": None}
    wall.show([wall.cell(n, url=f"{wall.media}/{n}.png", **pictures) for n in range(2)])
    wall.tile(0).focus()
    wall.press("s", "ArrowRight", "s", "c")
    wipe = wall.dialog.get_by_role("slider")
    expect(wipe).to_have_accessible_name(
        "How much of the first one is shown, in percent"
    )
    second = "document.querySelectorAll('.mk-wall-stage')[1]"
    clip = f"() => getComputedStyle({second}).clipPath"

    becomes(wall.page, lambda: wall.page.evaluate(clip), "inset(0px 0px 0px 50%)")
    # They overlap, so that no key can select one of them.
    expect(wall.dialog).not_to_contain_text("rate")
    wall.press("5", "k")
    assert wall.calls == []
    wipe.focus()
    wall.press("Home")
    becomes(wall.page, lambda: wall.page.evaluate(clip), "inset(0px 0px 0px 0%)")
    box = box_of(wall.dialog.locator(".mk-wall-stage").first)
    wall.page.mouse.move(box["x"] + 20, box["y"] + 40)
    wall.page.mouse.down()
    wall.page.mouse.move(box["x"] + box["width"] * 0.75, box["y"] + 40, steps=4)
    wall.page.mouse.up()
    until(wall.page, lambda: wall.page.evaluate(clip).startswith("inset(0px 0px 0px 7"))
    wall.press("w")
    expect(wall.dialog).to_contain_text("rate the focused one")
    wall.press("Escape")
    expect(wall.dialog).to_have_count(0)


def test_a_blind_comparison_hides_names_and_ends_in_a_ranking(wall: Wall) -> None:
    wall.show()
    wall.tile(0).focus()
    wall.press("b")
    expect(wall.dialog).to_contain_text("15 pairs left")
    shown = wall.dialog.inner_text()
    # On a narrow page nothing stands left or right.
    told = ("kite", "gull", "dawn", "media_", "Left", "Right")
    assert not [word for word in told if word in shown]

    sources = "() => [...document.querySelectorAll('dialog video')].map(v => v.src)"
    answered = []
    for key in ("1", "2", "0"):
        left, right = (f"media_{url[-5]}" for url in wall.page.evaluate(sources))
        wall.press(key)
        answered.append(
            (right, left, False) if key == "2" else (left, right, key == "0")
        )
        expect(wall.dialog).to_contain_text(f"{15 - len(answered)} pairs left")
    # Each pair was compared once; repeating a pair adds little information.
    assert len({job for pair in answered for job in pair[:2]}) == 6
    wall.press("Escape")
    expect(wall.dialog).to_contain_text("From 3 comparisons.")
    rows = wall.dialog.get_by_role("listitem")
    expect(rows).to_have_count(6)
    expect(rows.first).to_contain_text(" to ")
    wall.press("Escape")
    expect(wall.dialog).to_have_count(0)
    wall.has_called(*answered)


def test_prices_in_the_menu_of_a_tile_are_not_clipped(wall: Wall) -> None:
    wall.take = "Another take · $0.204, raises the budget to $1,024.408"
    wall.show()
    wall.tile(1).focus()
    wall.press("a")
    take = wall.el.get_by_role("button", name=wall.take)
    expect(take).to_be_visible()
    assert take.evaluate(
        "e => e.scrollWidth <= e.clientWidth && e.scrollHeight <= e.clientHeight"
    )


def test_a_tile_acts_at_the_price_on_its_button_and_a_double_click_pays_once(
    wall: Wall,
) -> None:
    wall.show()
    wall.tile(1).focus()
    wall.press("a")
    menu = wall.el.get_by_role("group", name="Actions for hot air balloon, dawn")
    take = menu.get_by_role("button", name="Another take · $0.20")
    # An extra key press buys nothing.
    expect(menu.get_by_role("button").first).to_be_focused()
    expect(menu.get_by_role("button").first).to_have_text("Use as…")
    rest(wall.page)
    take.dblclick()
    expect(wall.el.get_by_role("status")).to_have_text("Done: Another take · $0.20")
    wall.has_called(("media_1", "take"))

    wall.tile(1).focus()
    wall.press("a")
    expect(menu.get_by_role("button", name="Use as…")).to_be_focused()
    wall.press("Enter")
    expect(menu.get_by_role("button", name="Video upscale")).to_be_focused()
    wall.press("Enter")
    expect(wall.el.get_by_role("status")).to_have_text("Done: Video upscale")
    expect(wall.tile(1)).to_be_focused()
    wall.press("a")
    menu.get_by_role("button", name="Download").click()
    # This storage does not let a page read its files, so the kernel saves it.
    expect(wall.el.get_by_role("status")).to_have_text("Done: Download")
    wall.has_called(
        ("media_1", "take"), ("media_1", "use:a/b/upscale"), ("media_1", "download")
    )


def test_tiles_are_selected_by_clicks_and_shifted_arrows_and_judged_together(
    wall: Wall,
) -> None:
    wall.show()
    spoken = wall.el.locator(".mk-spoken")
    wall.tile(1).locator("video").click()
    wall.tile(3).locator("video").click(modifiers=["Shift"])
    expect(spoken).to_have_text("3 cells selected")
    wall.tile(2).locator("video").click(modifiers=["Control"])
    wall.tile(5).locator("video").click(modifiers=["Control"])
    selected = wall.el.locator("[aria-selected=true]")
    becomes(
        wall.page,
        lambda: [each.get_attribute("data-index") for each in selected.all()],
        ["1", "3", "5"],
    )
    wall.press("3")
    expect(spoken).to_have_text("3 results: rated 3 of 5")
    rated = [(f"media_{n}", {"rating": 3}) for n in (1, 3, 5)]
    wall.has_called(*rated)
    # A tile that is not selected is judged alone.
    wall.tile(0).focus()
    wall.press("k")
    expect(spoken).to_contain_text("kite, dawn: kept")
    wall.has_called(*rated, ("media_0", {"keep": True}))

    wall.tile(2).focus()
    wall.press("ArrowRight", "Shift+ArrowUp")
    expect(spoken).to_have_text("4 cells selected")
    wall.press("Escape")
    expect(spoken).to_have_text("0 cells selected")
    expect(wall.el.get_by_role("button", name="Actions for")).to_be_hidden()


def test_selected_tiles_act_together_at_the_sum_on_one_button(wall: Wall) -> None:
    failed = {"status": "failed", "url": None, "poster": None, "retry": "Retry (R)"}
    cells = [wall.cell(0), wall.cell(1), wall.cell(2, **failed)]
    wall.show(cells)
    wall.tile(0).focus()
    wall.press("Shift+ArrowRight", "Shift+ArrowRight")
    opens = wall.el.get_by_role("button", name="Actions for 3…")
    opens.click()
    menu = wall.el.get_by_role("group", name="Actions for 3 selected cells")
    expect(menu.get_by_role("button", name="Keep")).to_be_focused()
    take = menu.get_by_role("button", name="Another take of 3 results · $0.60")
    expect(take).to_be_visible()
    expect(menu.get_by_role("button", name="Video upscale")).to_have_count(0)
    assert not layout_faults(menu)
    assert not nameless(menu)

    wall.sum = "$0.70"  # as another kernel's prices may
    take.hover()
    rest(wall.page)
    take.click()
    expect(wall.el.get_by_role("alert")).to_contain_text("“Another take of 3 results")
    assert wall.calls == []
    expect(opens).to_be_focused()
    wall.tile(1).focus()
    wall.press("a")
    menu.get_by_role("button", name="Rate 2 of 5").click()
    wall.has_called(("media_0", {"rating": 2}), ("media_1", {"rating": 2}))
    wall.calls.clear()
    for name, calls in (
        (
            "Another take of 3 results · $0.70",
            [(f"media_{n}", "take") for n in range(3)],
        ),
        ("Retry 3 · $0.10", [(0, 1, 2, "Retry 3 · $0.10")]),
    ):
        wall.tile(0).focus()
        wall.press("a")
        button = menu.get_by_role("button", name=name)
        button.hover()
        rest(wall.page)
        button.dblclick()
        wall.has_called(*calls)
        wall.calls.clear()
    expect(wall.el.get_by_role("status").first).to_have_text("Sending them again.")
    wall.press("a")
    menu.get_by_role("button", name="Clear the selection").click()
    expect(opens).to_be_hidden()


def test_a_tag_moves_nothing_and_stars_stand_below_the_picture(wall: Wall) -> None:
    wall.show()

    def tops() -> list[float]:
        return [box_of(wall.tile(n))["y"] for n in range(6)]

    before = tops()
    wall.tile(0).focus()
    wall.press("t")
    wall.page.keyboard.type("a tag, another tag, and one more that is long")
    wall.press("Enter")
    expect(wall.tile(0)).to_contain_text("another tag")
    assert tops() == before
    media = box_of(wall.tile(0).locator(".mk-wall-media"))
    stars = box_of(wall.tile(0).locator(".mk-wall-stars"))
    assert stars["y"] >= media["y"] + media["height"]


def test_a_large_view_shows_the_frame_itself_before_it_plays(wall: Wall) -> None:
    wall.show()
    wall.tile(0).focus()
    wall.press("Enter")

    large = wall.dialog.locator("video")
    expect(large).not_to_have_attribute("poster", re.compile(""))
    expect(large).to_have_js_property("videoWidth", 160)
    expect(large).to_have_js_property("paused", True)


def test_no_plain_key_on_a_tile_reaches_the_notebook(wall: Wall) -> None:
    wall.show()
    plain = string.ascii_letters + string.digits
    strayed, meant = wall.tile(1).evaluate(PRESSED, plain)
    assert strayed == []
    # Keys do reach listeners: these are for the wall itself.
    assert set("abtn12345") <= set(meant)
    wall.tile(1).focus()
    wall.press("z", "Control+s")

    assert wall.page.evaluate("window.keys") == ["Control", "s"]


def test_cells_of_all_kinds_say_why_they_are_empty_and_are_tried_again(
    wall: Wall,
) -> None:
    failed = {"status": "failed", "problem": "Rejected: content", "url": None}
    again = {"retry": "Retry (R) · $0.20"}
    wall.show(
        [
            wall.cell(0, media_type="image", url=f"{wall.media}/0.png", poster=None),
            wall.cell(1, **failed, **again),
            wall.cell(2, media_type="audio", url=f"{wall.media}/0.wav", poster=None),
            wall.cell(3, status="unsent", problem="Used up.", url=None, retry=RAISES),
            wall.cell(4, status="invalid", problem="5 s is too long.", url=None),
            wall.cell(5, url=f"{wall.media}/gone.mp4"),
            wall.cell(6, **failed, **again),
        ]
    )

    expect(wall.tile(0).locator("img[loading=lazy]")).to_be_visible()
    expect(wall.tile(2).locator("audio[preload=none]")).to_be_visible()
    expect(wall.tile(3)).to_contain_text("Used up.")
    expect(wall.tile(3).locator(".mk-paid")).to_have_text(RAISES)
    for inner in (".mk-wall-state", "button.mk-paid"):
        box, tile = box_of(wall.tile(3).locator(inner)), box_of(wall.tile(3))
        assert box["width"] <= tile["width"]
    expect(wall.tile(1).locator(".mk-paid")).to_have_text("Retry (R) · $0.20")
    expect(wall.tile(4)).to_contain_text("5 s is too long.")
    wall.tile(5).focus()
    wall.press(" ")
    expect(wall.tile(5)).to_contain_text("cannot show this file, or it has been del")

    expect(wall.tile(1)).to_contain_text("Rejected: content")
    wall.tile(1).get_by_role("button", name="Retry").click()
    wall.tile(6).focus()
    wall.press("r")
    expect(wall.tile(6).get_by_role("button", name="Retry")).to_be_focused()
    wall.press("Enter")
    wall.el.get_by_role("button", name="Export all").click()
    expect(wall.el.get_by_role("status")).to_have_text("Saved 6 files.")
    wall.has_called(1, 6)


def test_cells_over_the_budget_are_sent_from_the_wall_and_a_run_is_stopped(
    wall: Wall,
) -> None:
    words = "Raise the budget to $3.74 and send 3 · $1.02"
    gallery = wall.show(summary=WallSummary(can_stop=True))
    expect(wall.el.locator(".mk-wall-rest")).to_be_hidden()
    wall.el.get_by_role("button", name="Stop").click()
    expect(wall.el.get_by_role("status")).to_have_text("Stopped.")

    gallery.update(summary=WallSummary(rest=words))

    expect(wall.el.get_by_role("button", name="Stop")).to_be_hidden()
    button = wall.el.get_by_role("button", name=words)
    rest(wall.page)
    button.click()
    expect(wall.el.get_by_role("status")).to_have_text("Sending 3 cells.")
    wall.has_called("stop", words)


def test_a_tile_says_once_that_it_was_not_sent_and_why(wall: Wall) -> None:
    problem = "Not sent: $0.34 would exceed the $3.00 budget ($2.72 spent)."
    cell = wall.cell(0, status="unsent", problem=problem, url=None)
    wall.show([cell, wall.cell(1, status="unsent", problem="Stopped.", url=None)])
    expect(wall.tile(0).locator(".mk-wall-state")).to_have_text(problem)
    expect(wall.tile(1).locator(".mk-wall-state")).to_contain_text("Not sent")


def test_the_announced_progress_ends_with_the_shown_text(
    wall: Wall,
) -> None:
    gallery = wall.show([wall.cell(n, status="running", url=None) for n in range(3)])
    spoken = wall.el.locator("[aria-live=polite]")
    for done in range(4):
        states = ["completed"] * done + ["running"] * (3 - done)
        cells = [
            wall.cell(n, status=state, url=None if state == "running" else "")
            for n, state in enumerate(states)
        ]
        gallery.update(cells)
        expect(wall.el.locator(".mk-wall-progress")).to_contain_text(f"{done} of 3")
    expect(spoken).to_have_text("3 of 3 done")

    # What changes once nothing runs is said at once, too.
    gallery.update([wall.cell(0), wall.cell(1), wall.cell(2, status="unsent")])

    expect(wall.el.locator(".mk-wall-progress")).not_to_have_text("3 of 3 done")
    words = wall.el.locator(".mk-wall-progress").inner_text().strip()
    expect(spoken).to_have_text(words)


def test_a_status_message_stays_for_six_seconds_or_while_it_is_hovered(
    wall: Wall,
) -> None:
    wall.page.clock.install(time=0)
    wall.show()
    told = wall.el.locator(".mk-wall-told")
    wall.el.get_by_role("button", name="Export all").click()
    expect(told).to_be_visible()
    told.hover()
    wall.page.clock.run_for(7_000)
    expect(told).to_be_visible()
    wall.page.mouse.move(1, 1)
    wall.page.clock.run_for(7_000)
    expect(told).to_be_hidden()


def test_the_cells_of_one_axis_flow_in_lines_with_their_derived_results_after_them(
    wall: Wall,
) -> None:
    cells = [
        replace(wall.cell(n), labels={"duration": f"{n + 3}"}, prompt="a kite")
        for n in range(6)
    ]
    cells[4] = replace(cells[4], status="unsent", url=None)
    made = replace(cells[1], index=FIRST_EXTRA, job_id="media_made", made="Upscale")
    wall.page.set_viewport_size({"width": 870, "height": 900})
    wall.show([*cells, made])
    order = [
        int(str(each.get_attribute("data-index")))
        for each in wall.el.locator(".mk-wall-tile").all()
    ]
    assert order == [0, 1, FIRST_EXTRA, 2, 3, 4, 5]
    boxes = [box_of(wall.tile(index)) for index in order]
    assert sum(abs(box["y"] - boxes[0]["y"]) < 2 for box in boxes) in (3, 4)
    assert max(box["width"] for box in boxes) - min(box["width"] for box in boxes) < 1
    # The label stands above its tile.
    label, medium = (
        wall.tile(2).locator(name) for name in (".mk-wall-caption", ".mk-wall-media")
    )
    expect(label).to_have_text("duration 5")
    assert box_of(label)["y"] < box_of(medium)["y"]
    # A cell that was not sent is at the height of its neighbour.
    sent, unsent = (wall.tile(n).locator(".mk-wall-media") for n in (3, 4))
    assert abs(box_of(sent)["y"] - box_of(unsent)["y"]) < 1


def test_a_compared_result_that_is_named_by_its_prompt_shows_it_once(
    wall: Wall,
) -> None:
    prompts = ("a kite at dawn", "a gull at dawn")
    wall.show(
        [
            replace(wall.cell(n), labels={}, prompt=text)
            for n, text in enumerate(prompts)
        ]
    )
    wall.tile(0).focus()
    wall.press("s", "ArrowRight", "s", "c")
    caption = wall.dialog.locator("figcaption").first
    expect(caption).to_contain_text("a kite at dawn")
    assert caption.inner_text().count("kite") == 1


def test_a_result_keeps_its_size_when_another_is_derived_from_it(wall: Wall) -> None:
    gallery = wall.show()
    before = box_of(wall.tile(1).locator(".mk-wall-media"))
    made = [
        replace(
            wall.cell(1), index=FIRST_EXTRA + n, job_id=f"media_m{n}", made="Upscale"
        )
        for n in range(2)
    ]
    gallery.update([*(wall.cell(n) for n in range(6)), *made])
    expect(wall.tile(FIRST_EXTRA)).to_be_visible()
    after = box_of(wall.tile(1).locator(".mk-wall-media"))
    assert (after["width"], after["height"]) == (before["width"], before["height"])
    assert box_of(wall.tile(FIRST_EXTRA))["width"] < after["width"]


def test_filters_leave_the_matching_cells(wall: Wall) -> None:
    wall.show()
    wall.tile(1).focus()
    wall.press("5", "/")
    wall.page.keyboard.type("balloon")
    tiles = wall.el.get_by_role("gridcell")
    expect(tiles).to_have_count(2)
    wall.el.get_by_label("Rating").select_option("4")
    expect(tiles).to_have_count(1)
    wall.el.get_by_label("Status").select_option("failed")
    expect(tiles).to_have_count(0)
    expect(wall.el).to_contain_text("No cell matches the filters.")
    wall.el.get_by_role("button", name="Clear filters").click()
    expect(tiles).to_have_count(6)
    wall.el.get_by_label("Kept", exact=True).check()
    expect(tiles).to_have_count(0)


def test_a_running_sweep_updates_the_wall(wall: Wall) -> None:
    running = {"status": "running", "url": None, "poster": None, "runtime_s": 3.0}
    cells = [wall.cell(n, **running) for n in range(6)]
    gallery = wall.show(cells)
    expect(wall.tile(5)).to_contain_text(re.compile(r"Running · ([5-9]|\d\d+) s"))

    cells[:3] = [wall.cell(n) for n in range(3)]
    gallery.update(cells, summary=WallSummary(spent="$0.60"))

    expect(wall.el.locator("video")).to_have_count(3)
    expect(wall.el).to_contain_text("3 of 6 done · 3 running")
    expect(wall.el).to_contain_text("$0.60")


def test_a_wall_without_its_kernel_says_so_and_is_read_only(wall: Wall) -> None:
    wall.show()
    wall.el.evaluate("root => root.classList.add('jupyter-widgets-disconnected')")
    wall.tile(0).focus()
    wall.press("5")

    expect(wall.el.get_by_role("alert")).to_contain_text("The kernel was restarted")
    expect(wall.tile(0)).to_have_accessible_name("kite, dawn, video, $0.20")
    assert wall.calls == []


def test_a_wall_fits_narrow_and_wide_pages(wall: Wall) -> None:
    wall.show()
    wall.tile(1).focus()
    wall.press("k")
    wall.el.get_by_role("button", name="Filter").click()
    for width_px in (360, 800, 1600):
        wall.page.set_viewport_size({"width": width_px, "height": 1100})
        faults = layout_faults(wall.el)
        # The colours are those of a notebook, which a bare page does not have.
        assert [each for each in faults if not each.startswith("faint")] == [], width_px
    assert nameless(wall.el) == []


def test_untrusted_text_stays_text_in_a_wall(wall: Wall) -> None:
    wall.exported = CANARY
    wall.show(
        [
            wall.cell(
                n,
                labels={"animal": CANARY, "light": f"{CANARY} {n}"},
                prompt=f"{n} {CANARY}",
                tags=(CANARY,),
                note=CANARY,
                problem=CANARY,
                status=("completed", "failed", "running")[n % 3],
                url=SCRIPT if n == 3 else f"{wall.media}/{n}.mp4",
                poster=SCRIPT,
            )
            for n in range(6)
        ],
        rows="animal",
        title=CANARY,
        summary=WallSummary(left=CANARY),
    )
    wall.tile(0).focus()
    wall.press("t", "Enter", "n", "Enter", "Enter")
    expect(wall.dialog).to_contain_text("onerror")
    wall.el.get_by_role("button", name="Close", exact=True).click()
    wall.el.get_by_role("button", name="Export all").click()
    expect(wall.el.get_by_role("status")).to_contain_text("onerror")

    assert wall.el.evaluate(FOUND) == []
    assert not wall.page.evaluate("window.canary")


def test_a_wall_of_1000_cells_has_pages_and_headers_that_stay(wall: Wall) -> None:
    wall.show(
        [
            wall.cell(n, labels={"animal": f"animal {n // 10}", "light": f"{n % 10}"})
            for n in range(1000)
        ],
        rows="animal",
        cols="light",
    )
    expect(wall.el.get_by_role("gridcell")).to_have_count(40)
    expect(wall.el).to_contain_text("Page 1 of 25")
    header = wall.el.get_by_role("columnheader").first
    before = box_of(header)["y"]
    wall.el.locator(".mk-wall-scroll").evaluate(
        "e => { e.scrollTop = e.scrollHeight; }"
    )
    assert abs(before - box_of(header)["y"]) < 12, "the header does not stay"

    wall.tile(0).focus()
    wall.press("PageDown")
    expect(wall.tile(40)).to_be_focused()
    wall.press("3")
    expect(wall.tile(40).locator("video")).to_have_attribute("poster", POSTER)
    wall.has_called(("media_40", {"rating": 3}))


def test_a_wall_looks_the_same_beside_any_other_widget(
    wall: Wall,
) -> None:
    wall.show()
    assert wall.bare.redrawn(wall.el, "gallery.css") == {}
