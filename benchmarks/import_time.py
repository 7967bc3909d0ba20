"""`import mediakit`, compared with `import httpx`, each in a new interpreter.

Limit: at most 1.0 times httpx.
"""

from __future__ import annotations

import importlib.metadata as metadata
import statistics
import subprocess
import sys
import time

ROUNDS = 11
LIMIT = 1.0


def seconds(statement: str) -> float:
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", statement], check=True)
    return time.perf_counter() - started


def main() -> int:
    """Measure in turn, print the table, and return the exit status."""
    statements = {"nothing": "pass", "httpx": "import httpx"}
    statements["mediakit"] = "import mediakit"
    for statement in statements.values():
        seconds(statement)
    times: dict[str, list[float]] = {name: [] for name in statements}
    for _ in range(ROUNDS):
        for name, statement in statements.items():
            times[name].append(1_000 * seconds(statement))
    print(f"import, {ROUNDS} rounds, httpx {metadata.version('httpx')}")
    for name, values in times.items():
        low, middle, high = min(values), statistics.median(values), max(values)
        print(f"  {name:10} {middle:7.1f} ms ({low:.1f} to {high:.1f})")
    ours, theirs = (statistics.median(times[n]) for n in ("mediakit", "httpx"))
    print(f"  mediakit / httpx: {ours / theirs:.2f} (limit {LIMIT})")
    return 0 if ours / theirs <= LIMIT else 1


if __name__ == "__main__":
    raise SystemExit(main())
