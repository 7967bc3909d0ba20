"""Widgets without a browser: what they display, and simulated users."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import count
from typing import Any

import ipywidgets

from mediakit.widgets.form.controller import Form
from mediakit.widgets.job.view import JobView
from tests.support import waiting


def until(condition: Callable[[], object], shower: Any = None) -> None:
    """Wait until a condition is true and shown, while the I/O thread runs."""
    waiting.until(condition)
    if shower is not None:
        # The thread that changes the state also shows it, under the same lock.
        with shower._model.lock if isinstance(shower, Form) else shower._lock:
            return


# -- any widget -----------------------------------------------------------------------


def every(widget: Any) -> Iterator[Any]:
    """Return a widget and all widgets inside it."""
    yield widget
    for child in getattr(widget, "children", ()):
        yield from every(child)


def named(view: Any, name: str) -> Any:
    """Return the first widget with this description, in the order of the page."""
    return next(
        each
        for each in every(view.widget)
        if str(getattr(each, "description", "")).lower() == name.lower()
    )


def in_use() -> int:
    """Return how many widgets are open in this process."""
    return len(ipywidgets.widgets.widget._instances)


def texts(value: object) -> Iterator[str]:
    """Yield every string in nested data."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from texts(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from texts(each)


# -- a job ----------------------------------------------------------------------------


def press(view: JobView, act: str, **said: object) -> list[dict[str, Any]]:
    """Send the request of a job's button; return the replies, once there are any.

    An action without a reply is not waited for.
    """
    answers: list[dict[str, Any]] = []
    view.act(act, said, lambda **values: answers.append(values))
    if act in ("save", "file", "copy"):
        until(lambda: answers)
    return answers


def note(view: JobView) -> str:
    """Return the text of a job's card about the last action."""
    return str(view.payload["note"])


def alert(view: JobView) -> str:
    """Return the error text of a job's card."""
    return note(view) if view.payload["alert"] else ""


# -- a form ---------------------------------------------------------------------------


def finish(form: Form) -> None:
    """Close a form and wait until all its tasks have ended."""
    form.close()
    until(lambda: not form._tasks._tasks)


def say(form: Form, do: str, *buffers: bytes, **more: object) -> None:
    """Send a form a message from its page."""
    data = {"method": "custom", "content": {"do": do, **more}}
    form.widget._handle_msg({"content": {"data": data}, "buffers": [*buffers]})


def hear(form: Form, name: str, told: Callable[..., object]) -> None:
    """Call a function with each message of this name to the page, and its buffers."""
    send = form.widget.send

    def spy(message: dict[str, Any], buffers: Any = ()) -> None:
        if name in message:
            told(message, list(buffers))
        else:
            send(message, buffers)

    form.widget.send = spy


def page(form: Form) -> dict[str, Any]:
    """Return what the page draws."""
    return dict(form.widget.form)


def shown(view: Any) -> str:
    """Return all texts on the page of a form, or of a tree of widgets."""
    if not isinstance(view, Form):
        htmls = (w for w in every(view.widget) if isinstance(w, ipywidgets.HTML))
        return "\n".join(html.value for html in htmls)
    said = {n: part for n, part in page(view).items() if n not in ("schema", "head")}
    return "\n".join(texts(said))


def said_of(form: Form, name: str) -> list[str]:
    """Return the messages beside a field, by their place."""
    found = [each["at"] for each in page(form)["problems"]]
    return [at[-1][2] for at in found if at[-1][0] == name]


def error_of(form: Form) -> str:
    return str(page(form)["error"])


_numbers = count(1)


def edit(form: Form, **wires: object) -> None:
    """Fill in fields by setting the values of their controls."""
    say(form, "edit", view="test", number=next(_numbers), values=wires)


class Box:
    """A field as users see it."""

    def __init__(self, form: Form, name: str) -> None:
        self._form, self._name = form, name

    @property
    def value(self) -> Any:
        """What it holds."""
        return self._form.widget.form["values"][self._name]

    @value.setter
    def value(self, wire: object) -> None:
        edit(self._form, **{self._name: wire})

    @property
    def disabled(self) -> bool:
        """Return whether it is disabled."""
        return self._name in page(self._form)["off"]


def box(form: Form, name: str) -> Box:
    """Return what people type into."""
    return Box(form, name)


class GenerateButton:
    """The paid button, which sends its label as a page does."""

    def __init__(self, form: Form) -> None:
        self._form = form

    @property
    def disabled(self) -> bool:
        """Return whether it is enabled."""
        return bool(page(self._form)["go"]["off"])

    @property
    def description(self) -> str:
        """What it says."""
        return str(page(self._form)["go"]["text"])

    def click(self, **edited: object) -> None:
        """Press it, as it is now or with fields that were edited since."""
        self.seen()(**edited)

    def seen(self) -> Callable[..., None]:
        """Return a click on the button as it stands now, to be sent later."""
        state = page(self._form)
        price, another = state["price"].get("ends"), state["go"]["another"]

        def click(**edited: object) -> None:
            say(
                self._form,
                "generate",
                view="test",
                number=next(_numbers),
                values={**state["values"], **edited},
                edited=list(edited),
                price=price,
                another=another,
            )

        return click


def generate_button(form: Form) -> GenerateButton:
    return GenerateButton(form)


def drawn_jobs(form: Form) -> list[str]:
    """Return the jobs that are drawn, the newest first."""
    return [job["id"] for job in form.widget.jobs]


def press_generate(form: Form) -> None:
    """Press Generate, and wait until the request is sent or refused."""
    assert not generate_button(form).disabled, form.state.submit_reason
    generate_button(form).click()
    until(lambda: not form.state.sending, form)
