"""The controller of a wall: shows a page of cells, and handles its messages."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import anyio.to_thread
import ipywidgets as w
from traitlets import Bool, Dict, Unicode

from mediakit.client.io_thread import io_thread
from mediakit.client.job_acts import page_acts
from mediakit.clock import Clock, SystemClock
from mediakit.errors import InputError, MediakitError
from mediakit.history import Preference
from mediakit.media_html import data_url
from mediakit.sweep.rankings import next_pair
from mediakit.widgets.gallery.action_runner import ActionRunner, job_ids_of, needed
from mediakit.widgets.gallery.blind import Sitting
from mediakit.widgets.gallery.cells import (
    Done,
    WallActions,
    WallCell,
    WallSummary,
    is_embedded,
)
from mediakit.widgets.gallery.followed_jobs import FollowedJobs
from mediakit.widgets.gallery.page import Payload, View, Wall
from mediakit.widgets.gallery.static_html import static_html, static_text
from mediakit.widgets.toolkit.background_tasks import TaskRunner
from mediakit.widgets.toolkit.browser_script import script_of
from mediakit.widgets.toolkit.callbacks import guarded, sentence_of
from mediakit.widgets.toolkit.cell_identity import ShownByCell
from mediakit.widgets.toolkit.cell_outputs import CardHandle, bundle_of, current_cell
from mediakit.widgets.toolkit.saved_copies import CardsWidget
from mediakit.widgets.toolkit.styles import sheets
from mediakit.widgets.toolkit.throttle import Paced
from mediakit.widgets.toolkit.widget_factory import keep_in_order

HERE = Path(__file__).parent
SCRIPTS = (
    "elements.js",
    "sheets.js",
    "blind.js",
    "menu.js",
    "tile.js",
    "filters.js",
    "head.js",
    "keys.js",
    "wall.js",
)
UPDATES_EVERY_S = 0.2
STATIC_EVERY_S = 2.0
PICTURES_PATIENCE_S = 3.0
LAST_PATIENCE_S = 15.0
PICTURE_PATIENCE_S = 0.5
"""How long the static wall waits: for all pictures, at the end, and for each."""
LOOKS_EVERY_S = 0.05
NOTHING_TO_JUDGE = "This job failed, so there is no result to rate or keep."
PAYS = ("act", "rest", "retry")

Message = Mapping[str, Any]


class GalleryWidget(CardsWidget):
    """A wall's model in the browser: one page of it."""

    shows = "wall of results"
    _esm = script_of(HERE, *SCRIPTS)
    _css = sheets(HERE / "gallery.css")
    page: Any = Dict().tag(sync=True)
    posters: Any = Dict().tag(sync=True)
    can: Any = Dict().tag(sync=True)
    acts: Any = Dict().tag(sync=True)
    hides = Unicode().tag(sync=True)
    compares = Bool().tag(sync=True)


class Gallery:
    """A wall of results in the notebook."""

    def __init__(
        self,
        cells: Sequence[WallCell],
        *,
        rows: str | None = None,
        cols: str | None = None,
        title: str = "",
        summary: WallSummary | None = None,
        judge: Callable[..., Awaitable[object]] | None = None,
        prefer: Callable[..., Awaitable[Preference]] | None = None,
        preferences: Sequence[Preference] = (),
        actions: WallActions | None = None,
        compares: bool = False,
        clock: Clock | None = None,
    ) -> None:
        self._axes = (rows, cols)
        self._title = title
        self._summary = summary or WallSummary()
        self._judge = judge
        self._prefer = prefer
        self._actions = actions or WallActions()
        self._preferences = tuple(preferences)
        self._sittings: dict[str, Sitting] = {}
        self._lock = threading.RLock()
        self._closed = False
        io = io_thread()
        self._clock = time = clock or SystemClock()
        self._tasks = TaskRunner(io, self.complain)
        self._updates = Paced(io, time, UPDATES_EVERY_S, self._show, self.complain)
        self._saving = Paced(io, time, STATIC_EVERY_S, self._save, self.complain)
        self._handle = self._own_handle = CardHandle()
        self._followed = FollowedJobs(self._updates.ask)
        self._forms: list[Any] = []
        self._ends: list[Callable[[], object]] = []
        self._pictures: dict[int, str | None] = {}
        self._awaited: set[int] = set()
        self._arrivals = threading.Condition(self._lock)
        self._base = _checked(cells)
        chosen = (cell.index for cell in self._base if compares)
        self._view = View(selected=frozenset(chosen))
        self._wall = self._arranged(self._base)
        self._turn = asyncio.Lock()
        self._clicks: set[object] = set()
        self._runner = ActionRunner(
            self._actions, self._clock, self._take_outcome, self._show_delay
        )
        self.widget: Any = GalleryWidget(
            can=self._can(),
            acts=page_acts(self._actions.acts),
            hides=self._handle.live_rules,
            compares=compares,
        )
        self.widget.carry_cards(self._handle)
        self.view: Any = w.VBox(children=(self.widget,))
        for each in (self.widget, self.view):
            keep_in_order(each.comm)
        self.widget.on_msg(self._hear)
        self._draw()
        if self._actions.tile is not None:
            self._tasks.run(self._bring_back)

    # -- for its owner ------------------------------------------------------------

    @property
    def cells(self) -> tuple[WallCell, ...]:
        """Return the cells as shown, with the ratings made on the wall."""
        return self._wall.cells

    @property
    def html(self) -> str:
        with self._lock:
            wall = replace(self._wall, cells=tuple(self._pictured(self.cells)))
            summary = self._summary
        return static_html(wall, summary, self._clock.now())

    def update(
        self,
        cells: Sequence[WallCell] | None = None,
        *,
        summary: WallSummary | None = None,
    ) -> None:
        """Show other cells or figures, from any thread, at most five times a second."""
        with self._lock:
            if self._closed:
                return
            self._summary = summary or self._summary
            self._base = self._base if cells is None else _checked(cells)
        self._updates.ask()

    def follow_with(self, handle: CardHandle) -> None:
        """Write the static copy to an output that is displayed already."""
        with self._lock:
            self._handle = handle
            self._saving.ask()

    def on_close(self, act: Callable[[], object]) -> None:
        self._ends.append(act)

    def keep(self) -> None:
        """Close the wall when its cell runs again."""
        cell = current_cell()
        if cell is not None:
            _shown.add(cell, self)

    @property
    def is_closed(self) -> bool:
        return self._closed

    def close(self) -> None:
        """Close the wall; its static copy stays in the notebook."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            for end in self._ends:
                end()
            self._updates.close()
            self._saving.close()
            self._followed.close()
            self._own_handle.close()
            for each in (*self._forms, self.widget, self.view):
                each.close()

    def __repr__(self) -> str:
        return static_text(self.cells, self._title, self._summary)

    def _ipython_display_(self) -> None:
        cell = current_cell()
        if cell is None:
            print(repr(self))  # noqa: T201 - there is no cell to show it in
            return
        self.keep()
        self._write()
        self._handle.display_beside(self.view)
        self._wait_for_pictures()

    @property
    def has_no_page(self) -> bool:
        """Return whether its notebook runs without a page."""
        is_shown = self._handle.is_displayed and not self._closed
        return is_shown and not self.widget.has_page

    def complete(self) -> None:
        """Write the latest cells with their pictures."""
        io_thread().call(self._show)
        self._wait_for_pictures(LAST_PATIENCE_S)

    def _wait_for_pictures(self, patience_s: float = PICTURES_PATIENCE_S) -> None:
        """Wait for pictures in a notebook that runs without a page."""
        # A cell's outputs can be changed only while the cell runs.
        with self._arrivals:
            patience_s += PICTURE_PATIENCE_S * len(self._awaited)
            for _ in range(round(patience_s / LOOKS_EVERY_S)):
                if not self._awaited or self.widget.has_page or self._closed:
                    break
                self._arrivals.wait(LOOKS_EVERY_S)
        self._write()

    def _repr_mimebundle_(self, **kwargs: object) -> dict[str, Any]:
        return bundle_of(self.view, self.html, repr(self))

    # -- display -------------------------------------------------------------------

    def _can(self) -> dict[str, bool]:
        judging = {"judge": self._judge, "prefer": self._prefer}
        acts = {**judging, **vars(self._actions)}
        return {name: act is not None for name, act in acts.items() if name != "acts"}

    def _arranged(self, cells: Sequence[WallCell]) -> Wall:
        acts = self._actions.acts
        return Wall.of(cells, self._axes, self._title, os.environ, acts)

    async def _show(self) -> None:
        """Show the latest cells, with the jobs submitted from the wall."""
        with self._lock:
            if self._closed:
                return
            cells = (*self._base, *self._followed.cells(self._base))
            self._wall = self._wall.with_cells(cells) or self._arranged(cells)
            self._draw()
            if self._handle.is_displayed:
                self._saving.ask()

    def _draw(self) -> None:
        page, pictured = self._wall.page(self._view, self._summary)
        posters = {
            str(cell.index): cell.poster
            for cell in self._pictured(pictured)
            if is_embedded(cell.poster)
        }
        with self.widget.hold_sync():
            self.widget.page, self.widget.posters = page, posters
        if self._actions.picture is not None:
            wanted = [c for c in pictured if self._wants_picture(c)]
            self._pictures.update((cell.index, None) for cell in wanted)
            self._awaited.update(cell.index for cell in wanted)
            for cell in wanted:
                self._tasks.run(partial(self._bring, cell))

    def _pictured(self, cells: Sequence[WallCell]) -> list[WallCell]:
        pictures = self._pictures
        return [
            cell if cell.poster else replace(cell, poster=pictures.get(cell.index))
            for cell in cells
        ]

    def _wants_picture(self, cell: WallCell) -> bool:
        has_one = cell.poster is not None or cell.index in self._pictures
        return cell.is_shown and not has_one and cell.media_type in ("image", "video")

    async def _bring(self, cell: WallCell) -> None:
        find = self._actions.picture
        if self._closed or find is None:
            return
        jpeg = None
        try:
            jpeg = await find(cell)
        finally:
            with self._arrivals:
                self._awaited.discard(cell.index)
                if jpeg is not None:
                    self._pictures[cell.index] = data_url(jpeg)
                self._arrivals.notify_all()
        if jpeg is not None:
            self._updates.ask()

    async def _bring_back(self) -> None:
        """Show jobs again that were submitted from an earlier instance of this wall."""
        tile: Any = self._actions.tile
        for job, sources, judged in await tile.made():
            cells = (*self._base, *self._followed.cells(self._base))
            at = {cell.job_id: cell for cell in cells}
            parent = next((at[source] for source in sources if source in at), None)
            if parent is not None:
                self._followed.add(job, parent, self._tasks)
                self._followed.judge(job.id, judged)
        self._updates.ask()

    def _open(self, form: Any) -> None:
        """Show a form right below the wall, above forms that are open already."""
        close = w.Button(description="Close this form", tooltip="Its jobs continue")
        close.add_class("mk-quiet-button")
        box = w.VBox(children=(close, form))

        def end(_: object) -> None:
            self.view.children = [each for each in self.view.children if each != box]
            for each in (form, close, box):
                each.close()

        close.on_click(end)
        self._forms += [form, close, box]
        wall, *others = self.view.children
        still_open = [each for each in others if each.children[1].comm is not None]
        self.view.children = (wall, box, *still_open)

    def _write(self) -> None:
        """Write the static copy."""
        now = self._clock.now()
        text = static_text(self.cells, self._title, self._summary, now)
        self._handle.show(self.html, text)

    async def _save(self) -> None:
        await anyio.to_thread.run_sync(self._write)

    def complain(self, text: str) -> None:
        self._send({"error": text})

    def _send(self, content: Payload, buffers: Sequence[bytes] = ()) -> None:
        with self._lock:
            if not self._closed:
                self.widget.send(content, buffers=list(buffers))

    # -- user actions --------------------------------------------------------------

    def _hear(self, _: object, message: object, buffers: object) -> None:
        guarded(self.complain, self._lock)(self._take)(message)

    def _take(self, message: Any) -> None:
        if self._closed:
            return
        if message["do"] in PAYS:
            # One message is one click, however often it arrives.
            if message["number"] in self._clicks:
                return
            self._clicks.add(message["number"])
        if message["do"] == "view":
            self._view = self._view.changed(message["changes"])
            self._draw()
            self._answer(message, {})
        else:
            self._tasks.run(partial(self._act, message))

    async def _act(self, message: Message) -> None:
        try:
            answer = await getattr(self, f"_do_{message['do']}")(message)
        except Exception as failure:  # noqa: BLE001 - it is shown in the wall
            answer = {"error": sentence_of(failure)}
        self._answer(message, answer)

    def _answer(self, message: Message, answer: Payload) -> None:
        buffers = answer.pop("buffers", [])
        self._send({"answer": message["number"], "error": "", **answer}, buffers)

    async def _do_export(self, _: Message) -> Payload:
        done = await needed(self._actions.export)()
        home = str(Path.home())
        return {"said": done.said, "path": done.path, "home": home}

    async def _do_stop(self, _: Message) -> Payload:
        return {"said": await needed(self._actions.stop)(), "tone": "warn"}

    async def _do_rest(self, message: Message) -> Payload:
        return {"said": await needed(self._actions.rest)(message["text"])}

    def _cells_in(self, message: Message) -> list[WallCell]:
        indices = set(message["cells"])
        return [cell for cell in self.cells if cell.index in indices]

    async def _do_judge(self, message: Message) -> Payload:
        """Judge some results; a failed job has none to rate or keep."""
        changes = dict(message["changes"])
        if "tags" in changes:
            changes["tags"] = tuple(changes["tags"])
        needs_result = bool(changes.get("rating") or changes.get("keep"))
        job_ids = job_ids_of(
            cell
            for cell in self._cells_in(message)
            if cell.status != "failed" or not needs_result
        )
        if not job_ids:
            raise MediakitError(NOTHING_TO_JUDGE)
        async with self._turn:
            for job_id in job_ids:
                await needed(self._judge)(job_id, **changes)
                with self._lock:
                    self._base = tuple(
                        replace(cell, **changes) if cell.job_id == job_id else cell
                        for cell in self._base
                    )
                    self._followed.judge(job_id, changes)
            await self._show()
        return {"count": len(job_ids)}

    async def _do_pair(self, message: Message) -> Payload:
        with self._lock:
            among = self._wall.candidates(self._view)
            jobs = [str(self.cells[at].job_id) for at in among]
        self._sittings[message["sitting"]] = sitting = Sitting(jobs)
        return await self._next_pair(sitting)

    async def _do_prefer(self, message: Message) -> Payload:
        sitting = self._sittings[message["sitting"]]
        chosen = {name: message[name] for name in ("winner", "loser", "tie")}
        async with self._turn:
            stored = await needed(self._prefer)(**chosen)
            with self._lock:
                self._preferences = (*self._preferences, stored)
        sitting.count += 1
        return await self._next_pair(sitting)

    async def _next_pair(self, sitting: Sitting) -> Payload:
        preferences = self._preferences
        wall = self._wall
        pair = await anyio.to_thread.run_sync(next_pair, preferences, sitting.jobs)
        left = await anyio.to_thread.run_sync(sitting.pairs_left, preferences)
        cells = [wall.cell_of(job) for job in pair or ()]
        return {"pair": cells, "count": sitting.count, "left": left}

    async def _do_rank(self, message: Message) -> Payload:
        sitting = self._sittings[message["sitting"]]
        preferences = self._preferences
        rows = await anyio.to_thread.run_sync(sitting.ranking, preferences)
        with self._lock:
            wall = self._wall
            pictured = self._pictured(self.cells)
        posters = {cell.job_id: cell.poster or "" for cell in pictured}
        ranking = [
            {**row, "cell": wall.cell_of(row["job"]), "poster": posters[row["job"]]}
            for row in rows
        ]
        return {"ranking": ranking, "count": sitting.count, "used": len(preferences)}

    async def _do_retry(self, message: Message) -> Payload:
        retry = needed(self._actions.retry)
        return {"said": await retry(message["cell"], message["text"])}

    async def _do_copy(self, message: Message) -> Payload:
        return {"buffers": [await needed(self._actions.copy)(message["job"])]}

    async def _do_recipe(self, message: Message) -> Payload:
        size, edits = await needed(self._actions.recipe)(message["job"])
        places = [[edit.start, edit.end] for edit in edits]
        return {"size": size, "places": places, "buffers": [e.content for e in edits]}

    async def _do_offers(self, message: Message) -> Payload:
        offers = await self._runner.offers(self._cells_in(message))
        return {"offers": [offer.payload for offer in offers]}

    async def _do_act(self, message: Message) -> Payload:
        offer, is_ticked = message["offer"], message.get("ticked") is True
        cells = self._cells_in(message)
        said, problem = await self._runner.act(
            cells, offer["name"], offer["text"], ticked=is_ticked
        )
        return {"said": said, "error": problem}

    async def _take_outcome(self, job_id: str, done: Done) -> None:
        """Show the new job or the form of an action on a result."""
        if done.job is not None:
            parent = next(c for c in self.cells if c.job_id == job_id)
            self._followed.add(done.job, parent, self._tasks)
            await self._show()
        if done.form is not None:
            self._open(done.form)

    def _show_delay(self, text: str, can_stop: bool) -> None:  # noqa: FBT001 - a fact
        self._send({"sending": {"text": text, "can_stop": can_stop}})

    async def _do_stop_sending(self, _: Message) -> Payload:
        await self._runner.stop()
        return {}


def _checked(cells: Sequence[WallCell]) -> tuple[WallCell, ...]:
    indices = [cell.index for cell in cells]
    if len(set(indices)) < len(indices):
        twice = next(index for index in indices if indices.count(index) > 1)
        raise InputError("cells", got=twice, accepted="a different index for each cell")
    return tuple(cells)


_shown: ShownByCell[Gallery] = ShownByCell()
