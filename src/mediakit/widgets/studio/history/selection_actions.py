"""Compares, saves and erases the selected jobs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mediakit.history import Entry
from mediakit.widgets.gallery import Gallery
from mediakit.widgets.studio.history.comparison_wall import wall_of
from mediakit.widgets.studio.history.rows import row_of
from mediakit.widgets.studio.history.save_and_erase import erase_all, save_all
from mediakit.widgets.studio.history.selection import Selection
from mediakit.widgets.studio.history.selection_bar import SelectionActs
from mediakit.widgets.studio.state import Question, StudioState
from mediakit.widgets.toolkit.background_tasks import TaskRunner

if TYPE_CHECKING:
    from mediakit.blocking_client import Client

Change = Callable[[StudioState], StudioState]


class Selecting:
    """Selects jobs of the history, and does what is asked with all of them.

    Args:
        client: The client.
        tasks: Does the work on the I/O thread.
        now: Returns the studio's state.
        take: Changes it.
        read_again: Reads the history and the spend again.
    """

    def __init__(
        self,
        client: Client,
        tasks: TaskRunner,
        *,
        now: Callable[[], StudioState],
        take: Callable[[Change], None],
        read_again: Callable[[], None],
    ) -> None:
        self._client = client
        self._tasks = tasks
        self._now = now
        self._take = take
        self._read_again = read_again
        self._gallery: Gallery | None = None
        self._wall: Any = None

    @property
    def acts(self) -> SelectionActs:
        """Return what the buttons do."""
        return SelectionActs(
            select_all=self._select_all,
            clear=lambda: self._take(lambda s: s.selecting(Selection())),
            compare=self.compare,
            ask=self._ask,
            save=self._save,
            erase=self._erase,
        )

    @property
    def wall(self) -> Any:
        """Return the widget with results side by side; None while there is none."""
        return self._wall

    def select(self, entry: Entry, is_selected: bool) -> None:  # noqa: FBT001 - a tick
        """Select an entry, or no longer."""

        def change(state: StudioState) -> StudioState:
            chosen = state.selection
            new = chosen.including(entry) if is_selected else chosen.excluding(entry)
            return state.selecting(new)

        self._take(change)

    def stop_comparing(self) -> None:
        """Show the list again."""
        self._take(lambda state: state.comparing(is_comparing=False))
        self.close()

    def close(self) -> None:
        """Free the wall."""
        gallery, self._gallery = self._gallery, None
        wall, self._wall = self._wall, None
        if gallery is not None:
            gallery.close()
        if wall is not None:
            wall.close()

    def _select_all(self, is_selected: bool) -> None:  # noqa: FBT001 - a tick
        def change(state: StudioState) -> StudioState:
            chosen, rows = state.selection, state.page.rows
            new = chosen.including(*rows) if is_selected else chosen.excluding(*rows)
            return state.selecting(new)

        self._take(change)

    def _ask(self, question: Question) -> None:
        self._take(lambda state: state.questioning(question))

    # -- comparing ----------------------------------------------------------------

    def compare(self) -> None:
        """Show the results side by side."""
        entries = self._now().selection.with_result
        names, catalog = self._client.components.media_names, self._client.catalog
        rows = [row_of(entry, catalog, names=names.known) for entry in entries]
        self.close()
        self._gallery = wall_of(self._client, entries, rows)
        self._wall = self._gallery.view
        self._take(lambda state: state.comparing(is_comparing=True))

    # -- saving and erasing -------------------------------------------------------

    def _save(self, folder: str) -> None:
        entries = self._now().selection.with_result
        text = f"Saving {len(entries):,} to {folder}…"
        self._do(text, lambda: save_all(self._client, entries, folder))

    def _erase(self) -> None:
        entries = self._now().selection.erasable
        self._do(
            f"Erasing {len(entries):,}…",
            lambda: erase_all(self._client, entries),
            clears=True,
        )

    def _do(self, text: str, act: Callable[[], Any], *, clears: bool = False) -> None:
        self._take(lambda state: state.doing(text))

        async def work() -> None:
            try:
                done = await act()
            except OSError as error:
                reason = f"The folder cannot be written: {error.strerror or error}."
                self._take(lambda state: state.saying(reason))
                return
            if clears:
                self._take(lambda state: state.selecting(Selection()))
            self._take(lambda state: state.doing(done))
            self._read_again()

        self._tasks.run(work)
