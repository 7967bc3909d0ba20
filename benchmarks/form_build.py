"""The image-upscale form beside twenty plain rows of a label and a control.

Ours also checks, prices, disables by rule and shows a result. To stay quick: at most
3.0 times the plain rows.
"""

from __future__ import annotations

import importlib.metadata as metadata
import statistics
import tempfile
import time
from collections.abc import Callable

import ipywidgets as w

import mediakit as mk
from mediakit.schema import FieldSpec
from mediakit.widgets.form import Form

ROUNDS = 11
LIMIT = 3.0


def plain_control(spec: FieldSpec) -> w.Widget:
    if spec.kind == "choice":
        return w.Dropdown(options=spec.choices)
    if spec.kind in ("integer", "number"):
        return w.FloatSlider(min=spec.low or 0, max=spec.high or 1)
    return w.Checkbox() if spec.kind == "boolean" else w.Text()


def milliseconds(build: Callable[[], object]) -> float:
    started = time.perf_counter()
    build()
    return 1_000 * (time.perf_counter() - started)


def main() -> int:
    """Measure in turn, print the table, and tell whether the limit holds."""
    with tempfile.TemporaryDirectory() as home, mk.Client(home=home) as client:
        function = client.catalog.function("image-upscale")

        def plain() -> w.VBox:
            fields = function.fields.values()
            rows = [w.HBox([w.Label(f.name), plain_control(f)]) for f in fields]
            return w.VBox(rows)

        def ours() -> None:
            Form(client, function, {}).close()

        plain()
        ours()
        pairs = [(milliseconds(plain), milliseconds(ours)) for _ in range(ROUNDS)]
    print(f"form, {ROUNDS} rounds, ipywidgets {metadata.version('ipywidgets')}")
    for name, values in zip(
        ("plain rows", "our form"), zip(*pairs, strict=True), strict=True
    ):
        low, middle, high = min(values), statistics.median(values), max(values)
        print(f"  {name:10} {middle:7.1f} ms ({low:.1f} to {high:.1f})")
    ratio = statistics.median(ours_ms / plain_ms for plain_ms, ours_ms in pairs)
    print(f"  ours / plain: {ratio:.2f} (limit {LIMIT})")
    return 0 if ratio <= LIMIT else 1


if __name__ == "__main__":
    raise SystemExit(main())
