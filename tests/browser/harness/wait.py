"""Waits with a timeout, whose error describes the page and names a screenshot."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Error, Locator, Page, TimeoutError

SCREENSHOTS = Path(__file__).parents[3] / "build" / "screenshots"
# JupyterLab's own word for the kernel is not enough: a comm message answered beside a
# running cell leaves it at "idle".
STATE = """() => {
    const panel = window.jupyterapp?.shell.currentWidget;
    const starred = (panel?.content?.widgets ?? []).flatMap(
        (cell, index) => cell.promptNode?.textContent.includes("*") ? [index] : []);
    return [
        `page: ${document.title}`,
        `kernel: ${panel?.sessionContext?.kernelDisplayStatus ?? "none"}`,
        `cells not at their end: ${starred.join(", ") || "none"}`,
        `dialog: ${document.querySelector(".jp-Dialog")?.innerText ?? "none"}`,
    ].join("; ");
}"""

WAITS_S = 240.0  # a busy machine may take so long
# Longer than a paid button ignores clicks, in many turns of the event loop, so that
# checks ten times a second have run even on a busy machine. A button that moves or
# changes meanwhile, because a picture arrives, ignores clicks for as long again.
REST = """async () => {
    const look = () => JSON.stringify(
        [...document.querySelectorAll(".mk-paid")].map(button => {
            const { x, y } = button.getBoundingClientRect();
            return [x, y, button.disabled, button.textContent];
        }));
    let before = look();
    for (let turn = 0, total = 0; turn < 15 && total < 600; turn += 1, total += 1) {
        await new Promise(resolve => setTimeout(resolve, 100));
        const now = look();
        if (now !== before) turn = -1;
        before = now;
    }
}"""


def screenshot(what: Page | Locator, name: str) -> Path:
    """Write a screenshot to build/screenshots/ and return its path."""
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    path = SCREENSHOTS / (re.sub(r"[^\w.-]+", "_", name) + ".png")
    what.screenshot(path=path, animations="disabled")
    return path


@contextmanager
def within(page: Page, what: str) -> Iterator[None]:
    """Name what is missing when the browser gives up.

    Raises:
        AssertionError: The browser gave up. The error names `what`, the state of the
            page and a screenshot.
    """
    try:
        yield
    except TimeoutError as error:
        picture = screenshot(page, f"timeout-{what}")
        raise AssertionError(
            f"Waited {WAITS_S:g} s in vain: {what}. {_state(page)}. Picture: {picture}"
        ) from error


def until(
    page: Page, is_so: Callable[[], bool], shown: Callable[[], object] = lambda: None
) -> None:
    """Wait for a condition while the page continues.

    Raises:
        AssertionError: The condition did not become true; the error shows the actual
            state.
    """
    end_s = time.monotonic() + WAITS_S
    while not is_so():
        assert time.monotonic() < end_s, shown()
        page.wait_for_timeout(50)


def becomes(page: Page, read: Callable[[], object], wanted: object) -> None:
    """Wait until a value read from the page equals the expected value."""
    until(page, lambda: read() == wanted, read)


def rest(page: Page) -> None:
    """Wait until a paid button that has just appeared accepts clicks."""
    page.evaluate(REST)


def _state(page: Page) -> str:
    try:
        return str(page.evaluate(STATE))
    except Error as error:
        return f"The page does not answer ({error.message.splitlines()[0]})"
