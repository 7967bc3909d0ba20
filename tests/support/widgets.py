"""Widgets without a browser: what they show, and a person who uses them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import gettempdir
from typing import Any

import ipywidgets

from mediakit.widgets.controls.context import WidgetContext
from mediakit.widgets.controls.control import Control
from mediakit.widgets.form.controller import Form
from mediakit.widgets.form.price.seen_price import ARRIVES_S
from mediakit.widgets.job.view import JobView
from mediakit.widgets.toolkit.callbacks import guarded
from mediakit.widgets.toolkit.widget_factory import WidgetFactory
from mediakit.widgets.uploads.upload_folder import UploadFolder

PATIENCE_S = 60.0


def until(condition: Callable[[], object], shower: Any = None) -> None:
    """Wait until something holds, and is shown; the I/O thread works meanwhile."""
    deadline_s = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline_s, "it did not come"
        time.sleep(0.01)
    if shower is not None:
        with shower._lock:  # whoever changed the state shows it under the same lock
            return


# -- any widget -----------------------------------------------------------------------


def every(widget: Any) -> Iterator[Any]:
    """Give a widget and all that stands in it."""
    yield widget
    for child in getattr(widget, "children", ()):
        yield from every(child)


def shown(view: Any) -> str:
    """Return everything that the widget of a view shows as HTML."""
    htmls = (w for w in every(view.widget) if isinstance(w, ipywidgets.HTML))
    return "\n".join(html.value for html in htmls)


def all_named(view: Any, name: str, kind: type = ipywidgets.DOMWidget) -> list[Any]:
    """Return the widgets with this description, in the order of the page."""
    return [
        each
        for each in every(view.widget)
        if isinstance(each, kind)
        and str(getattr(each, "description", "")).lower() == name.lower()
    ]


def named(view: Any, name: str, nth: int = 0) -> Any:
    """Return a widget with this description."""
    return all_named(view, name)[nth]


def in_use() -> int:
    """Return how many widgets are open in this process."""
    return len(ipywidgets.widgets.widget._instances)


def fail(sentence: str) -> None:
    """Take no sentence: no handler may fail."""
    raise AssertionError(sentence)


def make_context(**more: Any) -> WidgetContext:
    """Make what controls are made with; work is done at once."""
    given: dict[str, Any] = {
        "factory": WidgetFactory(),
        "guard": guarded(fail),
        "work": lambda do, done: done(do()),
        "uploads": UploadFolder(Path(gettempdir())),
    }
    return WidgetContext(**given | more)


def told(control: Control) -> list[object]:
    """Return the values that a control tells, as they come."""
    values: list[object] = []
    control.listen(lambda: values.append(control.value))
    return values


# -- a job ----------------------------------------------------------------------------


def press(view: JobView, act: str, **said: object) -> list[dict[str, Any]]:
    """Ask for what a button of a job asks for; return the answers, once there are any.

    What has no answer is asked for and not waited for.
    """
    answers: list[dict[str, Any]] = []
    view.act(act, said, lambda **values: answers.append(values))
    if act in ("save", "file", "copy"):
        until(lambda: answers)
    return answers


def note(view: JobView) -> str:
    """Return what a job's card says of what was done last."""
    return str(view.payload["note"])


def alert(view: JobView) -> str:
    """Return what a job's card says went wrong."""
    return note(view) if view.payload["alert"] else ""


# -- a form ---------------------------------------------------------------------------


def finish(form: Form) -> None:
    """Close a form and wait until nothing of it is under way any more."""
    form.close()
    until(lambda: not form._tasks._tasks)


def control(form: Form, name: str) -> Control:
    return form._view.controls[name]


def box(form: Form, name: str) -> Any:
    """Return what people type into."""
    return control(form, name).parts[0]


def generate_button(form: Form) -> Any:
    return form._view._generate


def error_of(form: Form) -> str:
    return str(form._view._error.value)


def drawn_jobs(form: Form) -> list[str]:
    """Return the jobs that are drawn, the newest first."""
    return [job["id"] for job in form._view.results.jobs]


def press_generate(form: Form) -> None:
    """Press Generate as people do: once price and button are there to be read."""
    assert not generate_button(form).disabled, form.state.submit_reason
    now_s = form._clock.monotonic_s

    def is_read() -> bool:
        with form._lock:  # another thread may be between the state and what it shows
            since_s = form._another_since_s or 0.0
            is_seen = form._seen.at(now_s()) == form.state.estimate
            return is_seen and now_s() - since_s >= ARRIVES_S

    until(is_read)
    generate_button(form).click()
    until(lambda: not form.state.sending, form)
