"""The outputs of a cell: cards that are updated through a display handle.

A live widget dies with its kernel, and a display handle stops working when the page is
reloaded, so a cell contains both. While the widget is on the page, its style hides the
cards, so that nothing is shown twice.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextvars import Context
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol
from uuid import uuid4

from IPython.core.interactiveshell import InteractiveShell
from markupsafe import Markup

from mediakit.safe_text import NO_HTML
from mediakit.widgets.toolkit.styles import style_tag

Publish = Callable[..., object]
GROUP_SIZE = 8
"""How many cards share an output: JupyterLab shows the first 50 outputs of a cell."""
OUTPUT = ".jp-OutputArea-child"
"""An output of a cell or of an `Output` widget; it may hold further ones."""
SHOWN = ".jp-OutputArea-output"
"""The content of an output, by MIME type."""
BROKEN = ".jupyter-widgets-error-widget"
"""The element that pages show for a widget whose script the server lacks."""
NEEDS_ANYWIDGET = (
    "The live view needs anywidget where the Jupyter server runs. Install it there "
    "with pip install anywidget, restart the server and reload this page."
)

NOT_LIVE = style_tag(f"{SHOWN} .mediakit-not-live{{display:block}}") + Markup(
    '<p class="mediakit-not-live" hidden>This page cannot show live forms and jobs: '
    "the Jupyter server may run in a different environment than this kernel. Run "
    "mk.doctor() in a cell to see what it lacks and how to install it.</p>"
)
"""The text that JupyterLab shows for a widget without the widgets extension."""


class HasCard(Protocol):
    """Something with a card that changes; see `JobView`."""

    @property
    def card_html(self) -> str: ...
    @property
    def card_text(self) -> str: ...
    def on_card(self, listener: Callable[[], None]) -> Callable[[], None]: ...


@dataclass(frozen=True)
class NotebookCell:
    """The cell that is running."""

    id: str  # stays the same on reruns, if the notebook reports it
    run: str  # of this execution

    @property
    def is_known(self) -> bool:
        """Return whether the notebook identifies its cells."""
        return self.id != self.run


def _kernel() -> Any:
    if not InteractiveShell.initialized():
        return None
    return getattr(InteractiveShell.instance(), "kernel", None)


def in_kernel() -> bool:
    return _kernel() is not None


def current_cell() -> NotebookCell | None:
    """Return the running cell; None in a terminal."""
    kernel = _kernel()
    if kernel is None:
        return None
    request: Mapping[str, Any] = kernel.get_parent("shell") or {}
    run = str(request.get("header", {}).get("msg_id", ""))
    return NotebookCell(str(request.get("metadata", {}).get("cellId") or run), run)


def _outputs_parent() -> Any:
    """Return the parent message of the current cell's outputs."""
    if _kernel() is None:
        return None
    return getattr(InteractiveShell.instance().display_pub, "parent_header", None)


def publish(
    data: Mapping[str, Any],
    *,
    transient: Mapping[str, str] | None = None,
    update: bool = False,
    parent: Any = None,
) -> None:
    """Send an output to the notebook, if there is one."""
    if _kernel() is None:
        return
    publisher: Any = InteractiveShell.instance().display_pub
    transient = dict(transient or {})
    send = partial(publisher.publish, dict(data), transient=transient, update=update)
    if update:
        # A task on the I/O thread runs in the context of the cell that started it, but
        # headless executors accept updates only from the cell that is being executed.
        # In an empty context, the output goes to that cell.
        Context().run(send)
    elif parent:
        # The cell has ended, but the page still accepts its outputs.
        content = {"data": dict(data), "metadata": {}, "transient": transient}
        to = {"parent": parent, "ident": publisher.topic}
        publisher.session.send(publisher.pub_socket, "display_data", content, **to)
    else:
        send()


def bundle_of(widget: Any, html: str = "", text: str = "") -> dict[str, Any]:
    """Return the output of a live widget, with HTML and text for other readers."""
    # Without HTML and text, the saved output would be a dump of traits.
    bundle: Any = widget._repr_mimebundle_() or {}
    live = bundle[0] if isinstance(bundle, tuple) else bundle
    return {**live, "text/html": f"{html}{NOT_LIVE}", "text/plain": text}


@dataclass(frozen=True)
class WrittenCard:
    """The current content of a handle's output."""

    version: int
    html: str
    text: str


class CardHandle:
    """Outputs of a cell that can be updated from any thread."""

    def __init__(self, *, publish: Publish = publish) -> None:
        self.id = uuid4().hex
        self._publish = publish
        self._lock = threading.RLock()
        self._head = ("", "")
        self._followed: dict[HasCard, str] = {}
        self._groups: dict[str, list[HasCard]] = {}
        self._ends: list[Callable[[], None]] = []
        self._sent: dict[str, tuple[str, str]] = {}
        self._cards: dict[str, WrittenCard] = {}
        self._on_write: list[Callable[[], None]] = []
        self.widget_id = ""  # the model of the live widget beside the cards
        self._parent: Any = None
        self._nearest = ""  # the card that replaces a lost live widget
        self._is_above = False  # whether that card is directly above the live widget
        self._is_closed = False
        self.is_displayed = False

    @property
    def live_style(self) -> str:
        """Return the live widget's style tag, which hides the cards."""
        return style_tag(self.live_rules)

    @property
    def live_rules(self) -> str:
        """Return the CSS rules that hide the cards."""
        # Hide only the output of the card itself: an `Output` widget around the card
        # also contains the live widget.
        mine = f".mediakit-cards-{self.id}"
        output = f"{OUTPUT}:has(> {SHOWN} > {mine})"
        return f"{mine}{{display:none}}{output}{{display:none}}"

    def display(self) -> None:
        """Create the outputs in the running cell."""
        with self._lock:
            self.is_displayed = True
            self._parent = None
            self._sent.clear()
            above = [self.id] * any(self._head) + [*self._groups]
            self._is_above = bool(above)
            self._nearest = above[-1] if above else ""
            self._write(self.id, *self._head)
            for group in tuple(self._groups):
                self._write_group(group)
            self._parent = _outputs_parent()

    def display_beside(self, widget: Any) -> None:
        """Create the outputs, and below them the live widget that hides them."""
        self.widget_id = widget.model_id
        self.display()
        publish(bundle_of(widget))

    def another(self) -> CardHandle:
        """Return a handle for further outputs of the same cell."""
        with self._lock:
            handle = CardHandle(publish=self._publish)
            handle.is_displayed, handle._parent = self.is_displayed, self._parent
            handle._nearest = self._nearest
            # The copy shares the live widget.
            handle._cards, handle._on_write = self._cards, self._on_write
            return handle

    @property
    def cards(self) -> dict[str, WrittenCard]:
        """Return the content of the outputs, by display ID."""
        return dict(self._cards)

    def on_write(self, listener: Callable[[], None]) -> None:
        """Call a function after each change of an output."""
        self._on_write.append(listener)

    def show(self, html: str, text: str = "") -> None:
        """Write the head, unless it is unchanged."""
        with self._lock:
            self._head = (html, text)
            self._write(self.id, html, text)

    def follow(self, *views: HasCard) -> None:
        """Add a card for each view, below the others, and keep it current."""
        with self._lock:
            new = [view for view in views if view not in self._followed]
            size = GROUP_SIZE if len(new) > GROUP_SIZE else 1
            for first in range(0, len(new), size):
                group = uuid4().hex
                self._groups[group] = new[first : first + size]
                for view in self._groups[group]:
                    self._followed[view] = group
                    self._ends.append(view.on_card(partial(self._write_card, view)))
                self._write_group(group)

    def close(self) -> None:
        """Stop writing; the outputs stay in the notebook."""
        with self._lock:
            self._is_closed = True
            ends, self._ends = self._ends, []
            self._followed.clear()
            self._groups.clear()
        for end in ends:
            end()

    def _write_card(self, view: HasCard) -> None:
        with self._lock:
            if view in self._followed:
                self._write_group(self._followed[view])

    def _write_group(self, group: str) -> None:
        views = self._groups[group]
        html = "".join(view.card_html for view in views)
        self._write(group, html, "\n\n".join(view.card_text for view in views))

    def _write(self, display_id: str, html: str, text: str) -> None:
        before = self._sent.get(display_id, ("", ""))
        if not self.is_displayed or self._is_closed or (html, text) == before:
            return
        update = display_id in self._sent
        self._sent[display_id] = (html, text)
        self._nearest = self._nearest or display_id
        before_this = self._cards.get(display_id)
        version = 1 if before_this is None else before_this.version + 1
        wrapped = self._wrapped(html, display_id, version)
        self._cards[display_id] = WrittenCard(version, wrapped, text)
        self._publish(
            {"text/html": wrapped, "text/plain": text},
            transient={"display_id": display_id},
            update=update,
            parent=self._parent,
        )
        for listener in self._on_write:
            listener()

    def _wrapped(self, html: str, display_id: str, version: int) -> str:
        tag = style_tag(self._rules_of_lost) if display_id == self._nearest else NO_HTML
        mark = Markup('data-card="{}" data-version="{}"').format(display_id, version)
        cards = Markup('<div class="mediakit-cards-{}" {}>{}</div>')
        return str(tag + cards.format(self.id, mark, Markup(html)))

    @property
    def _rules_of_lost(self) -> str:
        """Return the rules that hide and explain a widget that does not work."""
        # If the kernel is gone, the widget beside the cards shows only an error or
        # "Loading widget...", which the cards make redundant. Only its output has
        # neither child elements nor a MIME type. Other outputs of the cell stay
        # visible.
        card = f'{SHOWN} > [data-card="{self._nearest}"]'
        dead = f"{SHOWN}:not([data-mime-type]):not(:has(*))"
        if self._is_above:
            mine = f"{OUTPUT}:has(> {card})"
            line = f"{mine} + {OUTPUT} > {dead}"
            broken = f"{mine}:has(+ {OUTPUT} {BROKEN}) > {card}"
        else:
            line = f"{OUTPUT}:has(~ {OUTPUT} > {card}) > {dead}"
            broken = f"{OUTPUT}:has({BROKEN}) ~ {OUTPUT} > {card}"
        needs = f'{broken}::before{{display:block;content:"{NEEDS_ANYWIDGET}"}}'
        return f"{line}{{display:none}}{needs}"
