"""Two fast edits and a click, a thousand times, while the kernel is busy at random."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest

from mediakit.sandbox.server.running import RunningSandbox
from tests.browser.harness import Lab

pytestmark = [pytest.mark.browser, pytest.mark.soak]

# A new page for each part, because a form with many jobs is slow.
SEEDS = (20261127, 20261128, 20261129, 20261130)
CLICKS = 250
LONGEST_PAUSE_MS = 50
MICRO_PER_S = 68_000
CONNECT = """
import mediakit as mk
client = mk.Client({base_url!r}, {api_key!r}, home={home!r})
form = client.form("text-to-video", prompt="a", duration=5)
form.widget
"""
SUBMITTED = """
frame = client.history.frame(params=True)
columns = ["prompt", "duration", "reserved_micro_usd", "job_id"]
rows = frame[columns].astype(str).values.tolist()
print("ROWS", rows)
print("AT THE SERVICE", form.state.funds.held_micro_usd)
"""
# Runs in the page, because Playwright's clicks are slower than the kernel. Each click
# that reaches the button is recorded with the label at that moment. The button's pause
# after a click ends at once, because its clock is advanced.
CLICK = """async ([clicks, longest_ms, seed]) => {
    const form = document.querySelector(".mk-form");
    const go = form.querySelector("button.mk-go");
    const prompt = form.querySelector("textarea");
    const [box, slider] = ["input[role=spinbutton]", "input[type=range]"].map(type =>
        form.querySelector(type));
    const drawn = () => (seed = (seed * 1103515245 + 12345) % 2147483648) / 2147483648;
    const whole = (low, high) => low + Math.floor(drawn() * (high - low + 1));
    const pause = ms => new Promise(resolve => setTimeout(resolve, ms));
    const type = (input, text) => {
        input.value = text;
        input.dispatchEvent(new Event("input", { bubbles: true }));
    };
    const now = performance.now.bind(performance);
    let ahead_ms = 0;
    performance.now = () => now() + ahead_ms;
    const stamp = { get: () => performance.now() };
    Object.defineProperty(Event.prototype, "timeStamp", stamp);
    const seen = [];
    const note = () => seen.push([prompt.value, Number(box.value), go.textContent]);
    go.addEventListener("click", note, true);
    for (let number = 0; number < clicks; number += 1) {
        ahead_ms += 2000;
        const edits = [
            () => type(prompt, `kite ${number}`),
            () => type(drawn() < 0.5 ? box : slider, String(whole(3, 15))),
        ];
        if (drawn() < 0.5) edits.reverse();
        for (const edit of edits) {
            edit();
            await pause(whole(0, longest_ms));
        }
        go.click();
        while (go.disabled) await pause(5);
    }
    go.removeEventListener("click", note, true);
    return seen;
}"""
# The jobs are made and told of, and nobody looks at them here: to draw twelve of them
# again for each click would take longer than the rest, as would the cards that a form
# that is displayed as such keeps of each.
NOT_DRAWN = ".mk-jobs { display: none; }"
# Cells that block the kernel, one after the other, with pauses; `busy.over` ends them.
BUSY = """seed => {
    const kernel = window.jupyterapp.shell.currentWidget.sessionContext.session.kernel;
    window.busy = { over: false, count: 0 };
    const drawn = () => (seed = (seed * 1103515245 + 12345) % 2147483648) / 2147483648;
    const block = async () => {
        while (!window.busy.over) {
            const code = `import time; time.sleep(${0.04 * drawn()})`;
            const cell = { code, silent: true, store_history: false };
            await kernel.requestExecute(cell).done;
            window.busy.count += 1;
            await new Promise(resolve => setTimeout(resolve, 150 * drawn()));
        }
    };
    block();
}"""


def cents(text: str) -> float:
    """Return the price on a button, micro-USD."""
    return float(text.rsplit("$", 1)[1]) * 1_000_000


@pytest.mark.parametrize("seed", SEEDS)
def test_each_of_a_thousand_clicks_submits_the_shown_request_once_or_nothing(
    lab: Lab, holding: RunningSandbox, tmp_path: Path, seed: int
) -> None:
    url, key, home = holding.base_url, holding.api_key, str(tmp_path / "home")
    first = CONNECT.format(base_url=url, api_key=key, home=home)
    lab.begin(f"clicks-{seed}.ipynb", first, SUBMITTED, height_px=1000)
    lab.run_cell(0)
    lab.see(0, "more ·")
    page = lab.page
    page.add_style_tag(content=NOT_DRAWN)
    page.evaluate(BUSY, seed)
    clicks = page.evaluate(CLICK, [CLICKS, LONGEST_PAUSE_MS, seed])
    page.evaluate("() => { window.busy.over = true; }")
    assert page.evaluate("() => window.busy.count") > CLICKS / 20
    lab.wait_idle()
    lab.run_cell(1)
    said = lab.printed(1).split("ROWS ", 1)[1]
    rows = [
        (prompt, int(duration), int(reserved), job)
        for prompt, duration, reserved, job in ast.literal_eval(said.split("\n", 1)[0])
    ]
    held = int(said.split("AT THE SERVICE ", 1)[1].split()[0])

    prices = {(prompt, duration): cents(text) for prompt, duration, text in clicks}
    assert len(clicks) > 0.7 * CLICKS
    assert len(rows) > 0.3 * CLICKS
    assert len({job for *_, job in rows}) == len(rows)
    assert max(Counter(prompt for prompt, *_ in rows).values()) == 1
    for prompt, duration, reserved, _ in rows:
        assert (prompt, duration) in prices, (prompt, duration)
        assert reserved == MICRO_PER_S * duration
        # The button shows cents; exact charges have tenths of a cent.
        assert reserved <= prices[prompt, duration] + 5_000, (prompt, duration)
    assert held == sum(row[2] for row in rows)
    assert lab.console_errors() == []
