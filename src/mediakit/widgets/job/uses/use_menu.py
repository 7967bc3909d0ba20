"""The menu of functions that accept a result, and the form of the chosen one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, cast

import ipywidgets as w
from markupsafe import Markup

from mediakit.catalog import Catalog
from mediakit.client import AsyncJob, JobState
from mediakit.client.media_inputs import JobOutput, output_of
from mediakit.errors import InputError
from mediakit.media_limits import MediaName
from mediakit.widgets.job.text import has_output
from mediakit.widgets.job.uses.accepting_functions import Use, uses_of
from mediakit.widgets.toolkit.callbacks import Guard
from mediakit.widgets.toolkit.styles import style_tag
from mediakit.widgets.toolkit.widget_factory import WidgetFactory, close_tree

MEDIA = ("video", "image", "audio")
CSS = (Path(__file__).parent / "use_menu.css").read_text("utf-8")
NAMES = {"image": "picture", "video": "clip", "audio": "sound"}


class Opened(Protocol):
    """A form that was opened for a result."""

    @property
    def widget(self) -> Any:
        """The widget that carries it."""

    def take_result(self, use: Use, made: JobOutput) -> None:
        """Put a result into a field, and the focus into the form."""

    def close(self) -> None:
        """Close it; its jobs continue."""


Open = Callable[[Use], Opened]
"""Makes the form of a use, empty and not yet on the page."""
Elsewhere = Callable[[Use, JobOutput], object]
"""Opens the form of a use in a place of its own."""


def medium_of(state: JobState) -> MediaName | None:
    """Return which medium a job made; None for none that can be an input."""
    medium = state.media_type
    return cast("MediaName", medium) if medium in MEDIA else None


class UseMenu:
    """What "Use as…" opens below a card.

    Args:
        catalog: The functions.
        made: The result.
        medium: What it is.
        guard: Wraps the handlers.
        open: Makes forms; they stand below the menu.
        elsewhere: Opens a form somewhere else, in place of `open`.
    """

    def __init__(
        self,
        catalog: Catalog,
        made: JobOutput,
        medium: MediaName,
        guard: Guard,
        *,
        open: Open | None = None,
        elsewhere: Elsewhere | None = None,
    ) -> None:
        self._made = made
        self._open = open
        self._elsewhere = elsewhere
        self._guard = guard
        self._factory = WidgetFactory()
        self._forms: dict[str, Opened] = {}
        self._buttons = tuple(map(self._button, uses_of(catalog, medium)))
        words = Markup("<b>Use this {} in</b>").format(NAMES[medium])
        head = self._factory.make(w.HTML, "mk-use-head", value=words)
        self._row = self._factory.make(w.HBox, "mk-use-row", children=self._buttons)
        self._menu = (head, self._row)
        style = style_tag(CSS)
        self._style = self._factory.make(w.HTML, "mk-use-style", value=style)
        self.widget = self._factory.make(w.VBox, "mk-use")

    @property
    def is_open(self) -> bool:
        """Tell whether the functions are shown."""
        return self._menu[0] in self.widget.children

    def turn(self) -> None:
        """Show the functions, or hide them; a form that is open stays."""
        menu = () if self.is_open else self._menu
        forms = tuple(form.widget for form in self._forms.values())
        self.widget.children = (self._style, *menu, *forms)
        if menu and self._buttons:
            self._buttons[0].focus()

    def _button(self, use: Use) -> Any:
        button = self._factory.make(
            w.Button, "mk-small", description=use.function.title, tooltip=use.tooltip
        )
        button.on_click(self._guard(lambda _: self._choose(use)))
        return button

    def _choose(self, use: Use) -> None:
        if self._elsewhere is not None:
            self._elsewhere(use, self._made)
            self.widget.children = ()
            return
        if self._open is None:
            return
        path = use.function.path
        if path not in self._forms:
            self._forms[path] = self._open(use)
        chosen = self._forms.pop(path)
        # The one that was chosen last stands nearest to its result.
        self._forms = {path: chosen} | self._forms
        forms = (form.widget for form in self._forms.values())
        self.widget.children = (self._style, *forms)
        chosen.take_result(use, self._made)

    def close(self) -> None:
        """Close the menu and its forms; their jobs continue."""
        forms, self._forms = self._forms, {}
        self.widget.children = ()
        for form in forms.values():
            form.close()
        for part in (self._style, *self._menu, self.widget):
            close_tree(part)
        self._factory.close()


@dataclass(frozen=True)
class Uses:
    """Opens forms that begin with a result.

    Args:
        catalog: The functions.
        open: Makes a form below the card.
        elsewhere: Opens a form in a place of its own, in place of below the card.
    """

    catalog: Catalog
    open: Open | None = None
    elsewhere: Elsewhere | None = None

    def menu(self, job: AsyncJob, guard: Guard) -> UseMenu:
        """Return the menu for a job's result.

        Args:
            job: The job; it has a result.
            guard: Wraps the handlers.

        Raises:
            InputError: The result can be no input.
        """
        medium = medium_of(job.state)
        if medium is None or not has_output(job.state):
            got = f"the job {job.id}"
            raise InputError("result", got=got, accepted="a clip, a picture or a sound")
        return UseMenu(
            self.catalog,
            output_of(job, medium, "result"),
            medium,
            guard,
            open=self.open,
            elsewhere=self.elsewhere,
        )
