"""The panel with the equivalent Python code of a form, and its copy button."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import anywidget
import ipywidgets as w
from markupsafe import Markup
from traitlets import Unicode

from mediakit.widgets.controls.context import WidgetContext

TITLE = "Copy as Python"
HINT = "This call does the same. Click the code to select all of it."
OWNED_HINT = (
    'This call returns your existing result, free of charge; take="next" submits '
    "another take. Click the code to select all of it."
)


def code_html(code: str, hint: str) -> Markup:
    """Write code so that one click selects all of it."""
    return Markup(
        '<div class="mk-quiet mk-small-print">{}</div>'
        '<pre class="mk-code" tabindex="0" role="region" aria-label="Code">{}</pre>'
    ).format(hint, code)


class CopyButton(anywidget.AnyWidget):
    """A button that copies a text."""

    _esm = Path(__file__).parent / "copy_button.js"
    code = Unicode().tag(sync=True)


class CodeView:
    """A button that unfolds the code; nothing of it is made before.

    Args:
        context: What widgets are made with.
        write: Returns the code as it is now.
        title: What the button says.
    """

    def __init__(
        self, context: WidgetContext, write: Callable[[], str], *, title: str = TITLE
    ) -> None:
        self._context = context
        self._write = write
        self._hint = HINT
        self._code: Any = None
        self._copy: Any = None
        # A button, not an Accordion: its head cannot be reached by the keyboard.
        self._button = context.factory.make(
            w.ToggleButton, "mk-fold", description=title
        )
        self._button.observe(context.guard(self._turn), "value")
        self.widget = context.factory.make(
            w.VBox, "mk-fields", children=(self._button,)
        )

    def show(self, hint: str = HINT) -> None:
        """Show the code as it is now, if it is unfolded.

        Args:
            hint: What the call does.
        """
        self._hint = hint
        if self._code is None or not self._button.value:
            return
        self._copy.code = code = self._write()
        self._code.value = code_html(code, self._hint)

    def _turn(self, change: Any) -> None:
        if change.new:
            self._make()
            self.show(self._hint)
        shown = (self._code, self._copy) if change.new else ()
        self.widget.children = (self._button, *shown)

    def _make(self) -> None:
        if self._code is None:
            self._code = self._context.factory.make(w.HTML)
            self._copy = self._context.factory.make(CopyButton)

    def close(self) -> None:
        """Close what may be folded away."""
        for widget in (self._code, self._copy):
            if widget is not None:
                widget.close()
