"""What a cell leaves behind: cards written through a display handle.

A live widget dies with its kernel, and a display handle freezes when the page is
loaded again; a cell therefore holds both. The widget carries a style that hides the
cards for as long as it is there, so that a living page shows everything once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextvars import Context
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol
from uuid import uuid4

from IPython.core.interactiveshell import InteractiveShell

Publish = Callable[..., object]


class HasCard(Protocol):
    """Whatever gives a card and tells when it has changed."""

    @property
    def card_html(self) -> str:
        """The card as HTML."""

    @property
    def card_text(self) -> str:
        """The card as plain text."""

    def on_card(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call a function whenever the card has changed; return what ends it."""


@dataclass(frozen=True)
class Cell:
    """A cell that is being executed.

    Args:
        id: The cell, where the notebook tells it; the same when it is run again.
        run: This execution of it.
    """

    id: str
    run: str

    @property
    def is_known(self) -> bool:
        """Tell whether the notebook tells which cell it is."""
        return self.id != self.run


def _kernel() -> Any:
    if not InteractiveShell.initialized():
        return None
    return getattr(InteractiveShell.instance(), "kernel", None)


def current_cell() -> Cell | None:
    """Return the cell that is being executed; a terminal has none."""
    kernel = _kernel()
    if kernel is None:
        return None
    request: Mapping[str, Any] = kernel.get_parent("shell") or {}
    run = str(request.get("header", {}).get("msg_id", ""))
    return Cell(str(request.get("metadata", {}).get("cellId") or run), run)


def publish(
    data: Mapping[str, Any],
    *,
    transient: Mapping[str, str] | None = None,
    update: bool = False,
) -> None:
    """Send an output to the notebook; outside of one there is nowhere to.

    Args:
        data: The output in each of its types.
        transient: Its display id, where it is to be written again.
        update: Write the output of that id again.
    """
    if _kernel() is None:
        return
    publisher: Any = InteractiveShell.instance().display_pub
    send = partial(
        publisher.publish, dict(data), transient=dict(transient or {}), update=update
    )
    if update:
        # A task on the I/O thread stands in the context of the cell that started it,
        # and what executes notebooks without a page takes an update only from the
        # cell that is being executed. An empty context stands in that one.
        Context().run(send)
    else:
        send()


class CardHandle:
    """An output of a cell that can be written again, from any thread.

    Args:
        empty_html: What it holds while there is no card.
        empty_text: The same as plain text.
        publish: Sends outputs; the notebook's own way by default.
    """

    def __init__(
        self,
        *,
        empty_html: str = "",
        empty_text: str = "",
        publish: Publish = publish,
    ) -> None:
        self.id = uuid4().hex
        self._empty = (empty_html, empty_text)
        self._publish = publish
        self._lock = threading.RLock()
        self._followed: list[HasCard] = []
        self._ends: list[Callable[[], None]] = []
        self._cards: tuple[Sequence[str], Sequence[str]] = ((), ())
        self._displayed = False

    @property
    def live_style(self) -> str:
        """Return the tag that hides the cards; it belongs into the live widget."""
        mine = f".mediakit-cards-{self.id}"
        return (
            f"<style>{mine}{{display:none}}"
            f".jp-OutputArea-child:has({mine}){{display:none}}</style>"
        )

    def display(self) -> None:
        """Create the output, in the cell that is being executed."""
        with self._lock:
            self._displayed = True
            self._send(update=False)

    def show(self, html: Sequence[str], text: Sequence[str] = ()) -> None:
        """Write cards into the output, in this order.

        Args:
            html: The cards as HTML.
            text: The same cards as plain text.
        """
        with self._lock:
            self._cards = (tuple(html), tuple(text))
            if self._displayed:
                self._send(update=True)

    def follow(self, *views: HasCard) -> None:
        """Show the cards of views too, newest first, and write each change."""
        with self._lock:
            self._followed[:0] = reversed(views)
        self._ends += [view.on_card(self._write) for view in views]
        self._write()

    def close(self) -> None:
        """Write it no more; what it holds stays in the notebook."""
        with self._lock:
            ends, self._ends, self._followed = self._ends, [], []
        for end in ends:
            end()

    def _write(self) -> None:
        with self._lock:
            if not self._followed:
                return
            self.show(
                [view.card_html for view in self._followed],
                [view.card_text for view in self._followed],
            )

    def _send(self, *, update: bool) -> None:
        html, text = self._cards
        data = {
            "text/html": self._wrapped("".join(html) or self._empty[0]),
            "text/plain": "\n\n".join(text) or self._empty[1],
        }
        self._publish(data, transient={"display_id": self.id}, update=update)

    def _wrapped(self, html: str) -> str:
        # Where the kernel is gone, the widget beside the cards is one line, an error
        # or "Loading widget..." for good, that the cards make needless. It alone has
        # neither an element in it nor a type, as every other output does.
        area = f".jp-OutputArea:has(.mediakit-cards-{self.id})"
        dead = ".jp-OutputArea-output:not([data-mime-type]):not(:has(*))"
        return (
            f"<style>{area} {dead}{{display:none}}</style>"
            f'<div class="mediakit-cards-{self.id}">{html}</div>'
        )
