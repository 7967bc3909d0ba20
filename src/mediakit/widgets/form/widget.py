"""The widget of a form: one connection for its fields, price and jobs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from traitlets import Any as AnyTrait

from mediakit.widgets.controls import CONTROLS
from mediakit.widgets.job.jobs import DRAWS_JOBS, JobsWidget
from mediakit.widgets.job.payload import Payload
from mediakit.widgets.toolkit.browser_script import code_of
from mediakit.widgets.toolkit.styles import sheets

HERE = Path(__file__).parent
BY_NAME = ("values", "names", "found", "posters")
"""Parts of which only the entries that have changed are sent."""

OnMessage = Callable[[Mapping[str, Any], Sequence[memoryview]], object]


EDITORS = ("../timeline/spans.js", "../timeline/timeline.js", "../inputs/mask.js")
PAGE = ("page/sweep.js", "page/form.js")
BASE = HERE / "../controls/control.js"
STYLES = (HERE / "../job/jobs.css", HERE / "page/form.css")
EDITOR_STYLES = (HERE / "../timeline/timeline.css", HERE / "../inputs/mask.css")


@cache
def _script_of(*files: Path) -> str:
    return "\n".join([DRAWS_JOBS, *map(code_of, files)])


class FormWidget(JobsWidget):
    """A form's model in the browser; messages carry changes both ways."""

    # `form` is the initial state of a page. An open page gets changed parts by message:
    # setting the trait sends nothing. Each message from the page contains everything
    # that it depends on, so that none waits for another one.
    editors: tuple[str, ...] = ()
    _css = sheets(*STYLES)
    form: Any = AnyTrait().tag(sync=True)

    def __init__(self, on_message: OnMessage, **traits: Any) -> None:
        controls = [control.script for control in CONTROLS]
        own = (HERE / name for name in (*self.editors, *PAGE))
        esm = _script_of(BASE, *controls, *own)
        super().__init__(form={}, _esm=esm, **traits)
        self._form_lock = threading.RLock()
        self.on_msg(lambda _, message, buffers: on_message(message, buffers))

    def _should_send_property(self, key: str, value: object) -> bool:
        return key != "form" and super()._should_send_property(key, value)

    def show_form(self, parts: Payload, **more: object) -> None:
        """Draw these parts from now on; `more` is sent once."""
        with self._form_lock:
            news = {n: new for n, part in parts.items() if (new := self._new(n, part))}
            changed = {name: part for name, [part] in news.items()}
            whole = {
                name: {**self.form.get(name, {}), **part} if name in BY_NAME else part
                for name, part in changed.items()
            }
            self.form = {**self.form, **whole}
            if changed or more:
                self.send({"form": changed, **more})

    def _new(self, name: str, part: Any) -> list[Any]:
        """Return the changed entries of a part in a list; empty if none."""
        before = self.form.get(name)
        if name not in BY_NAME:
            return [] if before == part and name in self.form else [part]
        previous = before or {}
        missing = object()
        news = {n: each for n, each in part.items() if previous.get(n, missing) != each}
        return [news] if news else []


class EditorsWidget(FormWidget):
    """The widget of a form with a timeline or a mask."""

    editors = EDITORS
    _css = sheets(*STYLES, *EDITOR_STYLES)
