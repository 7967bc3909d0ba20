"""The time from starting the embedded sandbox to its first response.

Each start is in a new interpreter. For comparison, the import of the libraries that the
sandbox needs: no sandbox with these libraries can start faster. Limits: less than
0.5 s, and 2.5 times the imports, including the start of the interpreter.
"""

from __future__ import annotations

import importlib.metadata as metadata
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROUNDS = 9
LIMIT_S, LIMIT = 0.5, 2.5
LIBRARIES = ("httpx", "pydantic", "starlette", "uvicorn")
DONE = "print('done', flush=True)"
ANSWERED = """
from mediakit.sandbox.server.running import start_embedded
running = start_embedded({folder!r})
from http.client import HTTPConnection
connection = HTTPConnection(running.base_url.removeprefix("http://"))
headers = {{"X-API-Key": running.api_key}}
connection.request("GET", "/billing/balance", headers=headers)
assert connection.getresponse().status == 200
"""


def seconds(statements: str) -> float:
    """Return the time from a process's start to the end of its statements."""
    command = [sys.executable, "-c", f"{statements}\n{DONE}"]
    started_s = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        took_s = time.perf_counter() - started_s
    if line != "done\n":
        raise SystemExit(f"This does not run:\n{statements}")
    return took_s


def statements(folder: Path) -> dict[str, str]:
    return {
        "nothing": "pass",
        "libraries": f"import {', '.join(LIBRARIES)}",
        "a new sandbox": ANSWERED.format(folder=str(folder / str(time.monotonic_ns()))),
        "a known sandbox": ANSWERED.format(folder=str(folder / "known")),
    }


def main() -> int:
    """Measure in turn, print the table, and return the exit status."""
    times: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory(prefix="mediakit-benchmark-") as name:
        for number in range(ROUNDS + 1):
            for what, code in statements(Path(name)).items():
                took_s = seconds(code)
                if number:  # the first round warms up the disk cache
                    times.setdefault(what, []).append(took_s)
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in LIBRARIES)
    print(f"start to the first answer, {ROUNDS} rounds; {versions}")
    for what, values in times.items():
        low, middle, high = min(values), statistics.median(values), max(values)
        print(f"  {what:16} {middle:6.3f} s ({low:.3f} to {high:.3f})")
    medians = {what: statistics.median(values) for what, values in times.items()}
    slowest_s = max(medians["a new sandbox"], medians["a known sandbox"])
    ratio = slowest_s / medians["libraries"]
    print(f"  sandbox / libraries: {ratio:.2f} (below {LIMIT:g})")
    print(f"  slowest median: {slowest_s:.3f} s (below {LIMIT_S:g} s)")
    return 0 if slowest_s < LIMIT_S and ratio < LIMIT else 1


if __name__ == "__main__":
    raise SystemExit(main())
