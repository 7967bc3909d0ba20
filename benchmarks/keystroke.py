"""The time from a key press to the price, in JupyterLab and a headless Chromium.

A key press moves the duration slider of text-to-video by a second. The page records
when the key was pressed and when the price was shown; the kernel records how long our
handler took, from receiving the value to its last message.

Limits, for the median: 60 ms from key to price, and less than 2 ms in our handler.
Without a Chromium, the script says so and measures nothing.
"""

from __future__ import annotations

import ast
import statistics
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from playwright.sync_api import sync_playwright  # noqa: E402 - the tests' harness

from tests.browser.harness import Lab, serve_lab  # noqa: E402

KEYS = 60
WARM_UP = 10
LIMIT_MS = 60.0
LIMIT_OURS_MS = 2.0
FORM = """
import time
import mediakit as mk
from mediakit.widgets.form.controller import Form
took_ms = []
edit = Form._edit
def timed(form, said):
    started = time.perf_counter()
    edit(form, said)
    took_ms.append(1_000 * (time.perf_counter() - started))
Form._edit = timed
mk.connect().form("text-to-video", prompt="a kite over dunes")
"""
TAKEN = "print('TOOK', took_ms)"
NOTE = """() => {
    const price = document.querySelector(".mk-price");
    window.keyMs = [];
    addEventListener("keydown", event => { window.downAt = event.timeStamp; }, true);
    new MutationObserver(() => requestAnimationFrame(() => {
        if (window.downAt) window.keyMs.push(performance.now() - window.downAt);
        window.downAt = 0;
    })).observe(price, { childList: true, subtree: true, characterData: true });
}"""


def chromium_path() -> str | None:
    """Return the path of a Chromium; None if there is none."""
    finder = [sys.executable, str(ROOT / "tools" / "find_chromium.py")]
    found = subprocess.run(finder, capture_output=True, text=True, check=False)
    return found.stdout.strip() if found.returncode == 0 else None


def measure(lab: Lab) -> tuple[list[float], list[float]]:
    """Press keys; return the milliseconds to the price, and those in our handler."""
    lab.open(lab.server.add_notebook("keys.ipynb", [FORM, TAKEN]))
    lab.run_cell(0)
    lab.see(0, "Balance $")
    lab.page.evaluate(NOTE)
    handle = lab.cell(0).get_by_role("slider").first
    handle.focus()
    for number in range(KEYS + WARM_UP):
        lab.page.wait_for_timeout(100)  # people do not type faster
        handle.press("ArrowRight" if number % 2 else "ArrowLeft")
        lab.page.wait_for_function(f"() => window.keyMs.length > {number}")
    to_price_ms = lab.page.evaluate("() => window.keyMs")
    lab.run_cell(1)
    said = lab.outputs(1).inner_text().split("TOOK ", 1)[1]
    return to_price_ms[WARM_UP:], ast.literal_eval(said)[WARM_UP:]


def show(name: str, values_ms: list[float], limit_ms: float) -> None:
    low, middle, high = min(values_ms), statistics.median(values_ms), max(values_ms)
    print(
        f"  {name:20} {middle:6.1f} ms ({low:.1f} to {high:.1f}),"
        f" limit {limit_ms:.0f} ms"
    )


def main() -> int:
    """Measure, print the table, and return the exit status."""
    path = chromium_path()
    if path is None:
        print("keystroke: not measured, because there is no Chromium")
        return 0
    with (
        tempfile.TemporaryDirectory(prefix="mediakit-benchmark-") as folder,
        serve_lab(Path(folder)) as server,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(
            executable_path=path, args=["--no-sandbox", "--disable-gpu"]
        )
        to_price_ms, ours_ms = measure(Lab(browser.new_page(), server))
        browser.close()
        server.shut_down_kernels()
    print(f"a key, {KEYS} times, JupyterLab {version('jupyterlab')}")
    show("to the price", to_price_ms, LIMIT_MS)
    show("of it our handler", ours_ms, LIMIT_OURS_MS)
    quick = statistics.median(to_price_ms) <= LIMIT_MS
    return 0 if quick and statistics.median(ours_ms) < LIMIT_OURS_MS else 1


if __name__ == "__main__":
    raise SystemExit(main())
