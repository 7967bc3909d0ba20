"""Widgets with their JavaScript on a bare page, without a notebook.

The Python widget is the real one, in this process, and exchanges messages with its
module on the page.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any

from playwright.sync_api import Locator, Page, ViewportSize

import mediakit.widgets

# Each picture of a page is drawn without a graphics card: a small one is enough.
VIEWPORT = ViewportSize(width=800, height=600)
SAVED = "page.css"  # the sheet of a file of its own
PAGE = "<!doctype html><html lang=en><title>A widget</title><body></body></html>"
# The computed style of every element, without waiting for slow transitions.
DRAWN = """root => {
    const drawn = {};
    [...root.querySelectorAll("*")].forEach((each, at) => {
        each.style.transition = "none";
        const style = getComputedStyle(each);
        for (const name of style)
            if (!/^(--|transition)/.test(name))
                drawn[`${at} ${each.className} ${name}`] = style[name];
    });
    return drawn;
}"""
# Jupyter's half of an anywidget: a model, and the module that draws it.
HOST = """
window.models = {};
window.toBytes = text => Uint8Array.from(atob(text), c => c.charCodeAt(0));
const toText = data => {
    const bytes = new Uint8Array(data.buffer ?? data);
    let text = "";
    for (let at = 0; at < bytes.length; at += 8192)
        text += String.fromCharCode(...bytes.subarray(at, at + 8192));
    return btoa(text);
};
window.telling = [];
window.tell = (...message) => {
    const said = window.toPython(...message).then(window.hear);
    window.telling.push(said);
    return said;
};
window.makeModel = (id, state) => {
    const heard = [];
    let dirty = {};
    const emit = (name, ...values) =>
        heard.filter(one => one.name === name).forEach(one => one.act(...values));
    return window.models[id] = {
        get: name => state[name],
        set: (name, value) => {
            state[name] = dirty[name] = value;
            emit(`change:${name}`, value);
            emit("change");
        },
        save_changes: () => {
            window.tell(id, { method: "update", state: dirty }, []);
            dirty = {};
        },
        on: (names, act) => names.split(" ").forEach(name => heard.push({ name, act })),
        off: (name, act) => {
            const left = heard.filter(one => one.name !== name || one.act !== act);
            heard.splice(0, Infinity, ...left);
        },
        send: async (content, callbacks, buffers = []) =>
            window.tell(id, { method: "custom", content }, buffers.map(toText)),
        hear: (data, buffers) => {
            if (data.method === "custom") emit("msg:custom", data.content, buffers);
            for (const [name, value] of Object.entries(data.state ?? {})) {
                state[name] = value;
                emit(`change:${name}`, value);
                emit("change");
            }
        },
    };
};
window.show = async ([id, esm, css, state, classes, into]) => {
    for (const [name, value] of Object.entries(state))
        if (value?.bytes !== undefined)
            state[name] = new DataView(window.toBytes(value.bytes).buffer);
    const model = window.makeModel(id, state);
    const source = URL.createObjectURL(new Blob([esm], { type: "text/javascript" }));
    const made = (await import(source)).default;
    const widget = typeof made === "function" ? await made() : made;
    await widget.initialize?.({ model });
    const style = document.createElement("style");
    style.textContent = css;
    const el = document.createElement("div");
    el.dataset.widget = id;
    el.className = classes;
    document.head.append(style);
    document.querySelector(into).append(el);
    await widget.render?.({ model, el });
};
window.hear = messages => {
    for (const [id, data, buffers] of messages) {
        const views = buffers.map(text => new DataView(window.toBytes(text).buffer));
        window.models[id]?.hear(data, views);
    }
};
// Answers come at once; only what Python says of itself waits for this.
setInterval(async () => window.hear(await window.fromPython()), 250);
"""


class BarePage:
    """A page, and the widgets on it."""

    def __init__(self, page: Page, address: str) -> None:
        self.page = page
        self._heard: list[Any] = []
        self._address = address
        self._widgets: dict[str, Any] = {}
        self._waiting: list[tuple[str, Any, list[str]]] = []
        self._ids = map(str, count())
        page.expose_function("toPython", self._to_python)
        page.expose_function("fromPython", self._from_python)

    @property
    def heard(self) -> list[Any]:
        """Return the messages that Python received, once all have arrived."""
        self.page.evaluate("() => Promise.all(window.telling)")
        return self._heard

    def begin(self) -> None:
        """Load the page again, without any widget."""
        self.page.set_viewport_size(VIEWPORT)
        self.page.goto(self._address)
        self._heard, self._widgets, self._waiting = [], {}, []
        self.page.evaluate(HOST)

    def show(self, widget: Any, into: str = "body") -> Locator:
        """Show an anywidget at the end of an element; return its element."""
        id_ = next(self._ids)
        self._widgets[id_] = widget
        widget.comm.send = lambda data=None, metadata=None, buffers=None: self._queue(
            id_, data, buffers
        )
        state = {
            name: _sent(getattr(widget, name))
            for name in widget.keys
            if not name.startswith("_")
            and name not in ("layout", "tooltip", "tabbable")
        }
        css = getattr(widget, "_css", "")
        classes = " ".join(widget._dom_classes)
        self.page.evaluate("show", [id_, widget._esm, css, state, classes, into])
        return self.page.locator(f"[data-widget='{id_}']")

    def redrawn(self, el: Locator, *own: str) -> dict[str, str]:
        """Return how an element changes when widgets with other style sheets are added.

        Args:
            el: The element.
            own: The names of its own style sheets, which keep their order.
        """
        before: dict[str, str] = el.evaluate(DRAWN)
        for sheet in sorted(Path(mediakit.widgets.__file__).parent.rglob("*.css")):
            if sheet.name not in own and sheet.name != SAVED:
                self.page.add_style_tag(content=sheet.read_text("utf-8"))
        after: dict[str, str] = el.evaluate(DRAWN)
        return {name: after[name] for name in after if after[name] != before[name]}

    def _queue(self, id_: str, data: Any, buffers: Sequence[bytes] | None) -> None:
        texts = [b64encode(bytes(each)).decode() for each in buffers or ()]
        self._waiting.append((id_, data, texts))

    def _from_python(self) -> list[tuple[str, Any, list[str]]]:
        waiting, self._waiting = self._waiting, []
        return waiting

    def _to_python(
        self, id_: str, data: Any, buffers: list[str]
    ) -> list[tuple[str, Any, list[str]]]:
        """Send a widget its message; return Python's messages since then."""
        self._heard.append(data.get("content", data.get("state")))
        views = [memoryview(b64decode(each)) for each in buffers]
        self._widgets[id_]._handle_msg({"content": {"data": data}, "buffers": views})
        return self._from_python()


def _sent(value: object) -> object:
    if isinstance(value, bytes):
        return {"bytes": b64encode(value).decode()}
    return value
