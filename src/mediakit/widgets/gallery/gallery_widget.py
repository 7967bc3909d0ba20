"""The controller of a wall: shows cells, and handles ratings and comparisons.

A wall that is updated sends what changed, merged into at most five messages a second;
whatever people do comes as a message, and its answer is one.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Protocol

import anyio.to_thread

from mediakit.client.loop import io_thread
from mediakit.clock import Clock, SystemClock
from mediakit.errors import InputError
from mediakit.widgets.gallery.board import Board, ranking_payload
from mediakit.widgets.gallery.browser_requests import Act, Message, Requests, then
from mediakit.widgets.gallery.cells import (
    Judgement,
    Preference,
    Rank,
    Ranked,
    WallActions,
    WallCell,
    WallSummary,
    judgement_of,
)
from mediakit.widgets.gallery.judgements import Judged
from mediakit.widgets.gallery.payload import header_payload
from mediakit.widgets.gallery.static_html import static_html, static_text
from mediakit.widgets.gallery.throttle import Paced
from mediakit.widgets.toolkit.callbacks import guarded
from mediakit.widgets.toolkit.cell_identity import ShownByCell
from mediakit.widgets.toolkit.cell_outputs import CardHandle, current_cell, publish

UPDATES_EVERY_S = 0.2
STATIC_EVERY_S = 2.0


class Judge(Protocol):
    """Stores how a person judges a job."""

    def __call__(self, job_id: str, /, **changes: Any) -> object:
        """Store what changed: any of `rating`, `keep`, `tags` and `note`."""


class Prefer(Protocol):
    """Stores which of two jobs a person prefers."""

    def __call__(self, winner: str, loser: str, /, *, tie: bool) -> object:
        """Store it; with `tie`, neither was preferred."""


class Gallery:
    """A wall of results in the notebook.

    One widget carries all cells.
    Callbacks run on a worker thread, one at a time and in order; coroutine functions
    are awaited on the I/O thread. What they raise is shown in the wall as a sentence,
    and the wall shows the cell as it was before.

    Args:
        cells: The cells, in the order in which they are shown.
        rows: The axis down the side; also "take" or "prompt".
        cols: The axis along the top; also "take" or "prompt".
        title: What is above the wall.
        summary: The figures of the header that the cells do not tell.
        judge: Stores how a person judges a job: `judge(job_id, rating=4)`, with any of
            `rating`, `keep`, `tags` (a tuple) and `note`. Without it nothing is rated.
        prefer: Stores a blind preference: `prefer(winner, loser, tie=False)`. Without
            it there is no blind comparison.
        rank: Ranks jobs by all preferences, those given first included: returns
            `(job_id, strength, low, high, group)` for each.
        preferences: The preferences that were stored before.
        actions: What the buttons do.
        environment: See `player.browser_url`; this process's own when omitted.
        clock: Gives time; the system's by default.

    Raises:
        InputError: There is no such axis, or two cells have one index.
    """

    def __init__(
        self,
        cells: Sequence[WallCell],
        *,
        rows: str | None = None,
        cols: str | None = None,
        title: str = "",
        summary: WallSummary | None = None,
        judge: Judge | None = None,
        prefer: Prefer | None = None,
        rank: Rank | None = None,
        preferences: Sequence[Preference] = (),
        actions: WallActions | None = None,
        environment: Mapping[str, str] | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._axes = (rows, cols)
        self._title = title
        self._summary = summary or WallSummary()
        self._judge = judge
        self._prefer = prefer
        self._rank = rank
        self._actions = actions or WallActions()
        self._environment = os.environ if environment is None else environment
        self._preferences = tuple(
            Preference(each.winner, each.loser, each.tie) for each in preferences
        )
        self._judged = Judged()
        self._lock = threading.RLock()
        self._closed = False
        io, time = io_thread(), clock or SystemClock()
        self._updates = Paced(io, time, UPDATES_EVERY_S, self._send, self._complain)
        self._saving = Paced(io, time, STATIC_EVERY_S, self._save, self._complain)
        self._handle = self._own_handle = CardHandle()
        self._board = Board(
            _checked(cells),
            axes=self._axes,
            title=title,
            environment=self._environment,
            ask=self._updates.ask,
        )
        acts = {
            "judge": self._judging,
            "prefer": self._preferring,
            "retry": self._retrying,
            "export": lambda _: self._actions.export,
            "next": lambda _: self._actions.next,
        }
        self._requests = Requests(io, acts, self._answer, self._complain)
        # A copy takes seconds: ratings must not wait for it.
        copies = {"copy": self._copying}
        self._copies = Requests(io, copies, self._answer, self._complain)
        self._open()

    # -- for those who keep it ----------------------------------------------------

    @property
    def cells(self) -> tuple[WallCell, ...]:
        """Return the cells as they are shown, with what was judged in the wall."""
        return self._board.cells

    @property
    def preferences(self) -> tuple[Preference, ...]:
        """Return all preferences, those given first included."""
        return self._preferences

    @property
    def widget(self) -> Any:
        """Return the widget that carries the wall."""
        return self._board.widget

    @property
    def is_closed(self) -> bool:
        """Return whether the wall was taken down."""
        return self._closed

    @property
    def html(self) -> str:
        """Return the static twin of the wall."""
        with self._lock:
            cells, summary = self.cells, self._summary
        rows, cols = self._axes
        return static_html(
            cells,
            rows,
            cols,
            title=self._title,
            summary=summary,
            environment=self._environment,
        )

    def update(
        self,
        cells: Sequence[WallCell] | None = None,
        *,
        summary: WallSummary | None = None,
    ) -> None:
        """Show other cells or figures, from any thread; only differences are sent.

        What a person judged in the wall stays until `cells` say something else about
        it than they did before.

        Args:
            cells: All cells; those shown now when omitted.
            summary: The figures of the header; those shown now when omitted.

        Raises:
            InputError: Two cells have one index.
        """
        with self._lock:
            if self._closed:
                return
            self._summary = summary or self._summary
            shown = self.cells if cells is None else self._judged.over(_checked(cells))
            self._show(shown)

    def follow_with(self, handle: CardHandle) -> None:
        """Write the static twin through a handle that is displayed already.

        Args:
            handle: Keeps it in the notebook, in place of what it kept before.
        """
        with self._lock:
            self._handle = handle
            self._saving.ask()

    def close(self) -> None:
        """Take the wall down; its static twin stays in the notebook."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self._updates.close()
            self._saving.close()
            self._own_handle.close()
            self.widget.close()

    def __repr__(self) -> str:
        return static_text(self.cells, self._title, self._summary)

    def _ipython_display_(self) -> None:
        """Show the live wall, and a place where its static twin stays."""
        cell = current_cell()
        if cell is None:
            print(repr(self))  # noqa: T201 - there is no cell to show it in
            return
        _shown.add(cell, self)
        self._handle.show(self.html, repr(self))
        self._handle.display()
        publish({**self._live(), "text/plain": "", "text/html": ""})

    def _repr_mimebundle_(self, **kwargs: object) -> dict[str, Any]:
        """Return the live wall, and its static twin for a copy without a kernel."""
        return {**self._live(), "text/plain": repr(self), "text/html": self.html}

    # -- what is shown ------------------------------------------------------------

    def _open(self) -> None:
        can = {
            "judge": self._judge is not None,
            "prefer": self._prefer is not None,
            **{name: act is not None for name, act in vars(self._actions).items()},
        }
        self._board.open(
            self._hear,
            header=header_payload(self.cells, self._summary),
            ranking=ranking_payload(self._ranked() if self._preferences else ()),
            can=can,
            hides=self._handle.live_rules,
        )

    def _live(self) -> dict[str, Any]:
        bundle = self.widget._repr_mimebundle_()
        # anywidget gives metadata beside it.
        return dict(bundle[0] if isinstance(bundle, tuple) else bundle or {})

    def _show(self, cells: tuple[WallCell, ...]) -> None:
        self._board.show(cells)
        self._board.show_header(self._summary)
        if self._handle.is_displayed:
            self._saving.ask()

    async def _send(self) -> None:
        with self._lock:
            if not self._closed:
                self._board.send()

    async def _save(self) -> None:
        html = await anyio.to_thread.run_sync(lambda: self.html)
        self._handle.show(html, repr(self))

    def _complain(self, text: str) -> None:
        with self._lock:
            self._board.outbox.put(error=text)

    # -- what people do -----------------------------------------------------------

    def _hear(self, _: object, message: object, buffers: object) -> None:
        guarded(self._complain, self._lock)(self._take)(message)

    def _take(self, message: object) -> None:
        if self._closed or not isinstance(message, dict):
            return
        if message.get("do") == "posters":
            self._board.show_posters(message.get("of") or ())
        elif message.get("do") == "copy":
            self._copies.take(message)
        else:
            self._requests.take(message)

    def _answer(self, message: Message, error: str, said: str) -> None:
        with self._lock:
            if error:
                self._board.show_again(message.get("job"))
            view, number = str(message.get("view")), int(message.get("number") or 0)
            self._board.outbox.answer(view, number, error, said)

    def _judging(self, message: Message) -> Act | None:
        judge, job_id = self._judge, message.get("job")
        if judge is None or all(cell.job_id != job_id for cell in self.cells):
            return None

        def act() -> object:
            changes = judgement_of(message.get("changes"))
            store = partial(judge, str(job_id), **changes)
            return then(store, partial(self._take_judgement, str(job_id), changes))()

        return act

    def _take_judgement(self, job_id: str, changes: Judgement) -> None:
        with self._lock:
            self._show(self._judged.judge(self.cells, job_id, changes))

    def _preferring(self, message: Message) -> Act | None:
        jobs = {cell.job_id for cell in self.cells if cell.job_id}
        winner, loser = message.get("winner"), message.get("loser")
        if self._prefer is None or winner == loser or not {winner, loser} <= jobs:
            return None
        chosen = Preference(str(winner), str(loser), message.get("tie") is True)
        store = partial(self._prefer, chosen.winner, chosen.loser, tie=chosen.tie)
        return then(store, partial(self._take_preference, chosen))

    def _take_preference(self, preference: Preference) -> None:
        with self._lock:
            self._preferences = (*self._preferences, preference)
        ranked = self._ranked()
        with self._lock:
            self._board.show_ranking(ranked)

    def _ranked(self) -> Sequence[Ranked]:
        return self._rank(self._preferences) if self._rank is not None else ()

    def _copying(self, message: Message) -> Act | None:
        make, job_id = self._actions.copy, str(message.get("job"))
        if make is None or all(cell.job_id != job_id for cell in self.cells):
            return None

        async def copy() -> None:
            self._board.send_copy(message, await make(job_id))

        return copy

    def _retrying(self, message: Message) -> Act | None:
        cell, retry = self._board.find(message.get("cell")), self._actions.retry
        return partial(retry, cell.index) if retry and cell is not None else None


def _checked(cells: Sequence[WallCell]) -> tuple[WallCell, ...]:
    indices = [cell.index for cell in cells]
    if len(set(indices)) < len(indices):
        twice = next(index for index in indices if indices.count(index) > 1)
        raise InputError("cells", got=twice, accepted="an index for each cell alone")
    return tuple(cells)


_shown: ShownByCell[Gallery] = ShownByCell()
