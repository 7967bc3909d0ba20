"""Builds forms of one function in turn with plain rows, and measures each.

It reads one JSON object from standard input: the builder, the fields, their JSON Schema
and the number of rounds; it writes milliseconds and messages as JSON. Every message is
serialised as JSON, as a kernel does before it sends it to the browser.
"""

from __future__ import annotations

import importlib.metadata as metadata
import json
import sys
import time
from collections.abc import Callable
from typing import Annotated, Any, Literal

import comm
import ipywidgets as w
from comm.base_comm import BaseComm

Build = Callable[[], object]


class PackingComm(BaseComm):
    """A connection that serialises and counts messages, and sends them nowhere."""

    sent = 0

    def publish_msg(self, msg_type: str, *args: Any, **content: Any) -> None:
        content.pop("buffers", None)
        json.dumps(content, default=str)
        PackingComm.sent += 1


def plain_rows(fields: list[dict[str, Any]]) -> w.VBox:
    """Build what people write by hand: a label and a control for each field."""
    return w.VBox([w.HBox([w.Label(f["name"]), plain_control(f)]) for f in fields])


def plain_control(field: dict[str, Any]) -> w.Widget:
    if field["kind"] == "choice":
        return w.Dropdown(options=field["choices"])
    if field["kind"] in ("integer", "number"):
        return w.FloatSlider(min=field["low"] or 0, max=field["high"] or 1)
    return w.Checkbox() if field["kind"] == "boolean" else w.Text()


def ours(order: dict[str, Any]) -> Build:
    import mediakit as mk
    from mediakit.widgets.form.controller import Form

    client = mk.Client(home=order["home"])
    function = client.catalog.function(order["kind"])
    return lambda: Form(client, function, {})


def autoui(order: dict[str, Any]) -> Build:
    from ipyautoui import AutoUi

    return lambda: AutoUi(order["schema"])


def magicgui(order: dict[str, Any]) -> Build:
    """Build the form of a pydantic model with the same fields."""
    from magicgui import use_app
    from magicgui.schema._ui_field import build_widget
    from pydantic import Field, create_model

    use_app("ipynb")
    fields = {field["name"]: _typed(field, Field) for field in order["fields"]}
    model: Any = create_model("Fields", **fields)
    return lambda: build_widget(model)


def _typed(field: dict[str, Any], make_field: Any) -> tuple[Any, Any]:
    kinds = {"integer": int, "number": float, "boolean": bool}
    kind: Any = kinds.get(field["kind"], str)
    if field["choices"]:
        kind = Literal[tuple(field["choices"])]
    elif field["kind"] in ("integer", "number"):
        kind = Annotated[kind, make_field(ge=field["low"], le=field["high"])]
    if field["required"]:
        return kind, ...
    return (kind | None if field["default"] is None else kind), field["default"]


BUILDERS = {"mediakit": ours, "ipyautoui": autoui, "magicgui": magicgui}


def timed(build: Build) -> tuple[float, int]:
    """Return the milliseconds and the messages of building a form."""
    before, started = PackingComm.sent, time.perf_counter()
    form: Any = build()
    took_ms = 1_000 * (time.perf_counter() - started)
    sent = PackingComm.sent - before
    if hasattr(form, "close"):
        form.close()
    return took_ms, sent


def main() -> None:
    comm.create_comm = PackingComm
    order = json.load(sys.stdin)
    builder = order["builder"]
    form = BUILDERS[builder](order)
    builds = {"plain": lambda: plain_rows(order["fields"]), "form": form}
    for build in builds.values():
        timed(build)
    rounds = [{n: timed(b) for n, b in builds.items()} for _ in range(order["rounds"])]
    distribution = {"mediakit": "jupyter-mediakit"}.get(builder, builder)
    print(json.dumps({"version": metadata.version(distribution), "rounds": rounds}))


if __name__ == "__main__":
    main()
