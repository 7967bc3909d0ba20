"""The image-upscale form, compared with plain rows of ipywidgets and two generators.

The script builds the twenty fields in turn as handwritten rows of a label and a
control, and as a form. Our form also checks, prices, disables fields by rule, and has a
place for errors and results; ipyautoui and magicgui make their form from the same
fields. Each form is measured beside plain rows in its own process, so that the ratios
compare.

Limits: at most half the time of the plain rows, and at most 5 messages.

The other two are installed into their own environment, `build/bench`.
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
LIMIT = 0.5
LIMIT_MESSAGES = 5
HERE = Path(__file__).parent
BENCH_ENV = HERE.parent / "build" / "bench"
PACKAGES = ("ipyautoui", "magicgui")
KIND = "image-upscale"


@dataclass(frozen=True)
class Built:
    """The measurements of a form, and of the plain rows beside it."""

    name: str
    plain_ms: list[float]
    form_ms: list[float]
    plain_messages: int
    form_messages: int

    @property
    def ratio(self) -> float:
        """Return the median time of the form as a multiple of that of plain rows."""
        pairs = zip(self.form_ms, self.plain_ms, strict=True)
        return statistics.median(form / plain for form, plain in pairs)


def bench_python() -> str:
    """Return the interpreter that has the others, after installing them."""
    python = BENCH_ENV / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(BENCH_ENV)], check=True)
    install = [str(python), "-m", "pip", "install", "--quiet", *PACKAGES]
    if subprocess.run(install, check=False).returncode:
        raise SystemExit(
            f"{', '.join(PACKAGES)} could not be installed into {BENCH_ENV}."
        )
    return str(python)


def fields() -> list[dict[str, Any]]:
    """Return the properties of the fields that every builder needs."""
    names = ("name", "kind", "choices", "low", "high", "default", "required")
    specs = Catalog.default().function(KIND).fields.values()
    return [{name: getattr(spec, name) for name in names} for spec in specs]


def build(python: str, builder: str) -> Built:
    """Build forms in their own process."""
    schema = Catalog.default().function(KIND).json_schema()
    with tempfile.TemporaryDirectory(prefix="mediakit-benchmark-") as home:
        order = {"builder": builder, "kind": KIND, "rounds": ROUNDS, "home": home}
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
        f"{builder} {found['version']}",
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
    """Measure in turn, print the table, and return the exit status."""
    ours = build(sys.executable, "mediakit")
    others = [build(bench_python(), name) for name in PACKAGES]
    print(f"{len(fields())} fields, {ROUNDS} rounds, Python {sys.version.split()[0]}")
    show("plain rows", ours.plain_ms, ours.plain_messages, 1)
    for each in (ours, *others):
        show(each.name, each.form_ms, each.form_messages, each.ratio)
    print(f"  limits for ours: {LIMIT:.2f} of plain rows, {LIMIT_MESSAGES} messages")
    held = ours.ratio <= LIMIT and ours.form_messages <= LIMIT_MESSAGES
    return 0 if held else 1


if __name__ == "__main__":
    raise SystemExit(main())
