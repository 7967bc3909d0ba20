"""Simulated users who fill in forms: with the mouse, or with the keyboard alone."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Locator, Page

# More than the tab stops of the longest form.
MOST_STOPS = 150
# The name of the focused element, if it is in the form.
FOCUSED = """form => {
    const at = document.activeElement;
    if (!form.contains(at)) return null;
    const label = at.labels?.[0]?.textContent ?? at.textContent;
    const name = at.getAttribute("aria-label") ?? label;
    return name.replace(" *", "").trim();
}"""


def click_at(page: Page, x: float, y: float, clicked_s: float) -> None:
    """Click at a point, with the given event time, even if a busy page gets it late."""
    devtools = page.context.new_cdp_session(page)
    click = {"x": x, "y": y, "button": "left", "clickCount": 1, "timestamp": clicked_s}
    for kind in ("mousePressed", "mouseReleased"):
        devtools.send("Input.dispatchMouseEvent", click | {"type": kind})
    devtools.detach()


class Mouse:
    """Uses the mouse; text is typed into the clicked element."""

    def __init__(self, form: Locator) -> None:
        self.form = form
        self.page: Page = form.page

    def type(self, label: str, text: str) -> None:
        """Type into a box."""
        boxes = self.form.locator("textarea, input:not([type=range])")
        self._called(label).and_(boxes).last.click()
        self.page.keyboard.press("Control+A")
        self.page.keyboard.press("Delete")
        self.page.keyboard.type(text)

    def choose(self, label: str, option: str) -> None:
        """Choose from a list."""
        # The operating system draws the open list, so the page gets no clicks in it.
        has_it = self.page.locator("option").get_by_text(option, exact=True)
        self._called(label).filter(has=has_it).last.select_option(label=option)

    def press(self, name: str) -> None:
        """Press a button."""
        self.form.get_by_role("button", name=name).last.click()

    def tick(self, label: str) -> None:
        """Turn a switch."""
        self._called(label).last.click()

    def give(self, field: str, box: str, path: Path) -> None:
        """Choose a file in the browser's dialog."""
        upload = self.form.get_by_role("button", name=f"Upload: {field}").last
        with self.page.expect_file_chooser() as dialog:
            upload.click()
        dialog.value.set_files([path])

    def generate(self) -> None:
        """Press the button that pays."""
        self.form.locator("button.mk-go").click()

    def _called(self, label: str) -> Locator:
        names = (label, f"{label} *")
        one, other = (self.form.get_by_label(n, exact=True) for n in names)
        return one.or_(other)


class Keyboard:
    """Uses no mouse: Tab, Shift+Tab, letters, Space and Enter."""

    def __init__(self, form: Locator) -> None:
        self.form = form
        self.page: Page = form.page

    def go_to(self, *names: str) -> None:
        """Press Tab until an element with one of these names has the focus."""
        seen = []
        for _ in range(MOST_STOPS):
            self.page.keyboard.press("Tab")
            seen.append(self.form.evaluate(FOCUSED))
            if seen[-1] in names:
                return
        raise AssertionError(f"Tab does not reach {names}: {seen}")

    def type(self, label: str, text: str) -> None:
        """Type into a box."""
        self.go_to(label)
        self.page.keyboard.press("Control+A")
        self.page.keyboard.press("Delete")
        self.page.keyboard.type(text)

    def choose(self, label: str, option: str) -> None:
        """Choose from a list by typing its first letters."""
        self.go_to(label)
        self.page.keyboard.type(option)

    def press(self, name: str) -> None:
        """Press a button."""
        self.go_to(name)
        self.page.keyboard.press("Space")

    def tick(self, label: str) -> None:
        """Turn a switch."""
        self.press(label)

    def give(self, field: str, box: str, path: Path) -> None:
        """Type the path of a file."""
        self.go_to(box)
        self.page.keyboard.type(str(path))

    def generate(self) -> None:
        """Press Tab until the paid button has the focus, then press it."""
        pays = self.form.locator("button.mk-go")
        for _ in range(MOST_STOPS):
            self.page.keyboard.press("Tab")
            if pays.evaluate("button => button === document.activeElement"):
                self.page.keyboard.press("Enter")
                return
        raise AssertionError("Tab does not reach the paid button.")


def act(hand: Hand, step: Step, folder: Path) -> None:
    """Perform a step of a form; files are in a folder."""
    do, *words = step
    if do == "give":
        field, box, name = words
        hand.give(field, box, folder / name)
    else:
        getattr(hand, do)(*words)


Hand = Mouse | Keyboard
Step = tuple[str, ...]
"""A step: the name of a method, and its arguments."""
