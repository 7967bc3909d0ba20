"""The image-upscale form beside plain rows of ipywidgets and two form generators.

Its twenty fields are built in turn as rows of a label and a control, written by hand,
and as a form. Ours also checks, prices, disables by rule, and has a place for errors
and results; ipyautoui and magicgui make their form from the same fields. Each form is
measured beside plain rows in a process of its own, so that the ratios compare.

To stay quick: at most the time of the plain rows, and at most 100 messages.

The other two are installed into `build/bench`, an environment of their own.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mediakit.catalog import Catalog

ROUNDS = 15
LIMIT = 1.0
LIMIT_MESSAGES = 100
HERE = Path(__file__).parent
ROOM = HERE.parent / "build" / "bench"
GUESTS = ("ipyautoui", "magicgui")
KIND = "image-upscale"


@dataclass(frozen=True)
class Built:
    """What a form took, and the plain rows beside it."""

    name: str
    plain_ms: list[float]
    form_ms: list[float]
    plain_messages: int
    form_messages: int

    @property
    def ratio(self) -> float:
        """Return how much of the plain rows' time the form takes, in the middle."""
        pairs = zip(self.form_ms, self.plain_ms, strict=True)
        return statistics.median(form / plain for form, plain in pairs)


def room() -> str:
    """Return the interpreter that has the others, installing them where needed."""
    python = ROOM / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(ROOM)], check=True)
    install = [str(python), "-m", "pip", "install", "--quiet", *GUESTS]
    if subprocess.run(install, check=False).returncode:
        raise SystemExit(f"{', '.join(GUESTS)} could not be installed into {ROOM}.")
    return str(python)


def fields() -> list[dict[str, Any]]:
    """Return what every builder needs to know of the fields."""
    names = ("name", "kind", "choices", "low", "high", "default", "required")
    specs = Catalog.default().function(KIND).fields.values()
    return [{name: getattr(spec, name) for name in names} for spec in specs]


def build(python: str, who: str) -> Built:
    """Build forms in a process of their own."""
    schema = Catalog.default().function(KIND).json_schema()
    with tempfile.TemporaryDirectory(prefix="mediakit-benchmark-") as home:
        order = {"who": who, "kind": KIND, "rounds": ROUNDS, "home": home}
        done = subprocess.run(
            [python, "-W", "ignore", str(HERE / "load" / "forms.py")],
            input=json.dumps({**order, "fields": fields(), "schema": schema}),
            stdout=subprocess.PIPE,
            check=True,
            text=True,
        )
    found = json.loads(done.stdout.splitlines()[-1])
    rounds = found["rounds"]
    return Built(
        f"{who} {found['version']}",
        [each["plain"][0] for each in rounds],
        [each["form"][0] for each in rounds],
        rounds[-1]["plain"][1],
        max(each["form"][1] for each in rounds),
    )


def show(name: str, values_ms: list[float], messages: int, ratio: float) -> None:
    low, middle, high = min(values_ms), statistics.median(values_ms), max(values_ms)
    print(
        f"  {name:16} {middle:7.1f} ms ({low:.1f} to {high:.1f}),"
        f" {messages:4} messages, {ratio:.2f} of plain rows"
    )


def main() -> int:
    """Measure in turn, print the table, and tell whether the limits hold."""
    ours = build(sys.executable, "mediakit")
    others = [build(room(), who) for who in GUESTS]
    print(f"{len(fields())} fields, {ROUNDS} rounds, Python {sys.version.split()[0]}")
    show("plain rows", ours.plain_ms, ours.plain_messages, 1)
    for each in (ours, *others):
        show(each.name, each.form_ms, each.form_messages, each.ratio)
    print(f"  limits for ours: {LIMIT:.2f} of plain rows, {LIMIT_MESSAGES} messages")
    held = ours.ratio <= LIMIT and ours.form_messages <= LIMIT_MESSAGES
    return 0 if held else 1


if __name__ == "__main__":
    raise SystemExit(main())
