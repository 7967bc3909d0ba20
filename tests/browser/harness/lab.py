"""JupyterLab as a page object: open, run, read, save, kill and restart the kernel."""

from __future__ import annotations

import json
import secrets
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import psutil  # type: ignore[import-untyped] # it ships no types
from playwright.sync_api import (
    ConsoleMessage,
    Error,
    Locator,
    Page,
    TimeoutError,
    ViewportSize,
)

from mediakit.sandbox.server.running import RunningSandbox
from tests.browser.harness.server import LabServer
from tests.browser.harness.wait import WAITS_S, screenshot, within

SETTLES_MS = 300
# Polling at each frame would make a waiting page draw all the time.
POLL_MS = 50
RESTARTS_MS = 120_000  # then it is helped
NO_ARGS: Mapping[str, object] = MappingProxyType({})
PANEL = ".jp-NotebookPanel:not(.lm-mod-hidden)"
# JupyterLab's own, when a kernel ends while questions to it are open; and anywidget's,
# where a busy page took too long to load a module.
NOISE = ("ResizeObserver loop", "Canceled future for", "Failed to initialize model")
# anywidget gives up a widget whose module was not loaded in 2 s, until the page is
# loaded again. That is too short for a busy machine.
PATIENT = """if (!window.mkIsPatient) {
    window.mkIsPatient = true;
    const { timeout } = AbortSignal;
    AbortSignal.timeout = (ms) => timeout.call(AbortSignal, 30 * ms);
}"""

NOTEBOOK = "window.jupyterapp.shell.currentWidget"
PRINTED = f"""index => {NOTEBOOK}.content.widgets[index].model.outputs.toJSON()
    .map(({{ text, data }}) => [text ?? data?.["text/plain"] ?? ""].flat().join(""))
    .join("")"""
READY = """() => {
    const panel = window.jupyterapp?.shell.currentWidget;
    return Boolean(panel?.content?.widgets?.length) && panel.context.isReady;
}"""
IDLE = f"""() => {{
    const kernel = {NOTEBOOK}.sessionContext.session?.kernel;
    const starred = {NOTEBOOK}.content.widgets.some(
        cell => cell.promptNode?.textContent.includes("*"));
    return kernel?.status === "idle" && kernel.connectionStatus === "connected"
        && !starred;
}}"""
# The promise stays on the page, so that waiting for it can have its own timeout.
START = """([command, args]) => {
    const call = { over: false, error: null };
    window.mediakitCall = call;
    window.jupyterapp.commands.execute(command, args)
        .catch(error => { call.error = String(error); })
        .finally(() => { call.over = true; });
}"""
# Whether a page of JupyterLab is there to open further notebooks in.
THERE = "() => Boolean(window.jupyterapp && window.mediakitRestored)"
# A disposed notebook does not ask whether to save it.
CLEAR = """() => {
    const { shell } = window.jupyterapp;
    [...shell.widgets("main")].forEach(widget => widget.dispose());
    document.querySelectorAll(".jp-Dialog").forEach(dialog => dialog.remove());
    if (shell.leftCollapsed) shell.expandLeft();
}"""
RESTORE = """() => {
    window.jupyterapp.restored.then(() => { window.mediakitRestored = true; });
}"""
OVER = "() => window.mediakitCall.over"
CALL_ERROR = "() => window.mediakitCall.error"

Theme = Literal["light", "dark"]
THEMES: dict[Theme, str] = {"light": "JupyterLab Light", "dark": "JupyterLab Dark"}


def connected(sandbox: RunningSandbox, name: str) -> str:
    """Return the cell that connects to a sandbox with a short queue."""
    address, key = sandbox.base_url, sandbox.api_key
    return (
        "import mediakit as mk\nfrom PIL import Image\n"
        f"client = mk.connect({address!r}, {key!r}, home='home-{name}')\n"
    )


COUNT = 'print(len(client.history.frame()), "jobs of this history")'


class Lab:
    """One notebook in one browser page, over a running server.

    Every method has a timeout: its AssertionError says what was missing, describes the
    page, and names a screenshot.
    """

    def __init__(self, page: Page, server: LabServer) -> None:
        self.page = page
        self.server = server
        self.notebook = ""
        self.is_spoilt = False
        self._opened = False
        self._console: list[str] = []
        page.context.add_init_script(PATIENT)
        page.context.set_default_timeout(WAITS_S * 1000)
        page.on("console", self._note_console)
        page.on("pageerror", self._note_page_error)

    def open(self, notebook: str | Path, *, kernel: bool = True) -> None:
        """Open a notebook, the only one on the page, and wait until it is shown.

        Without a kernel, the page is reloaded, so that it has no earlier state.

        Args:
            notebook: A path below the server's folder, or a file to copy into it.
            kernel: False opens it as saved, without starting a kernel.
        """
        if isinstance(notebook, Path):
            notebook = self.server.add_file(notebook)
        self.notebook = notebook
        if not (kernel and self.page.evaluate(THERE)):
            self._load()
        elif self._opened:
            self.page.evaluate(CLEAR)
        self._opened = True
        no_kernel = {"shouldStart": False, "canStart": False, "autoStartDefault": False}
        where: dict[str, object] = {"path": notebook, "factory": "Notebook"}
        if not kernel:
            where["kernelPreference"] = no_kernel
        self._command("docmanager:open", where)
        self._wait_until_open(kernel=kernel)

    def begin(self, notebook: str, *cells: str, height_px: int = 1200) -> None:
        """Open a new notebook with these cells, without the sidebar beside it."""
        self.open(self.server.add_notebook(notebook, cells))
        self.resize(1280, height_px)
        self.hide_sidebar()

    def look_at(self, name: str, index: int, *, height_px: int = 1200) -> None:
        """Take pictures of a cell in both themes, wide and narrow."""
        looks: tuple[tuple[Theme, int], ...] = (("light", 1280), ("dark", 800))
        for theme, width_px in looks:
            self.theme(theme)
            self.resize(width_px, height_px)
            self.screenshot(f"{name}-{theme}-{width_px}", self.cell(index))
        self.theme("light")
        self.resize(1280, height_px)

    def leave(self) -> None:
        """Leave the page as it was found: no notebook, light, not zoomed."""
        self.page.unroute_all(behavior="ignoreErrors")
        self.page.remove_listener("console", self._note_console)
        self.page.remove_listener("pageerror", self._note_page_error)
        if self.page.evaluate(THERE):
            self.page.evaluate(CLEAR)
            self.page.evaluate("document.body.style.zoom = ''")
            self.theme("light")

    def reload(self) -> None:
        """Reload the page; the kernel continues."""
        with within(self.page, "the page loaded again"):
            self.page.reload()
        self._wait_until_open(kernel=True)

    def run_all(self) -> None:
        """Run every cell and wait for the last one."""
        self._command("notebook:run-all-cells")
        self.wait_idle()

    def run_cell(self, index: int) -> None:
        """Run the cell with this index, counted from 0, and wait for it."""
        self.start_cell(index)
        self._wait_for(OVER, f"the end of cell {index}")
        self.wait_idle()

    def start_cell(self, index: int) -> None:
        """Run the cell with this index and do not wait for it."""
        # In one step: a focus that moves meanwhile would make another cell active.
        self.page.evaluate(
            f"""index => {{
                const notebook = {NOTEBOOK}.content;
                notebook.deselectAll();
                notebook.activeCellIndex = index;
                ({START})(["notebook:run-cell", {{}}]);
            }}""",
            index,
        )

    def wait_idle(self) -> None:
        """Wait until the kernel is connected and idle and no cell waits to run."""
        self._wait_for(IDLE, "an idle kernel")

    def cell(self, index: int) -> Locator:
        """Return the cell with this index, counted from 0, scrolled into view."""
        found = self.page.locator(f"{PANEL} .jp-Notebook .jp-Cell").nth(index)
        found.scroll_into_view_if_needed()
        return found

    def outputs(self, index: int) -> Locator:
        """Return the output area of the cell with this index."""
        return self.cell(index).locator(".jp-Cell-outputWrapper")

    def printed(self, index: int) -> str:
        """Return the printed output of a cell, once the page has drawn it."""
        return str(self.page.evaluate(PRINTED, index))

    def jobs(self, index: int) -> int:
        """Run the cell with `COUNT`; return how many jobs the history has."""
        self.run_cell(index)
        return int(self.printed(index).split("jobs of this")[0].split()[-1])

    def see(self, index: int, text: str) -> Locator:
        """Wait until the cell with this index shows the text, and return where."""
        found = self.cell(index).get_by_text(text).filter(visible=True).first
        with within(self.page, f"{text!r} in cell {index}"):
            found.wait_for(state="visible")
        return found

    def save(self) -> dict[str, Any]:
        """Save the notebook and return it as it is on the disk."""
        clean = f"() => !{NOTEBOOK}.context.model.dirty"
        until_s = time.monotonic() + WAITS_S
        self._command("docmanager:save")
        while not self.page.evaluate(clean):
            # An output has changed since, and is not in the file yet.
            assert time.monotonic() < until_s, "the notebook changes after each save"
            self.page.wait_for_timeout(SETTLES_MS)
            self._command("docmanager:save")
        return self.server.read_notebook(self.notebook)

    def save_until(self, holds: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
        """Save until the file has the page's delayed changes; return it."""
        until_s = time.monotonic() + WAITS_S
        while not holds(notebook := self.save()):
            assert time.monotonic() < until_s, "the notebook never has it"
            self.page.wait_for_timeout(SETTLES_MS)
        return notebook

    def save_outputs(self, index: int, *texts: str) -> str:
        """Save until the outputs of a cell have these texts; return them as JSON."""

        def outputs(notebook: dict[str, Any]) -> str:
            return json.dumps(notebook["cells"][index]["outputs"], ensure_ascii=False)

        def holds(notebook: dict[str, Any]) -> bool:
            return all(text in outputs(notebook) for text in texts)

        return outputs(self.save_until(holds))

    def exported(self) -> Page:
        """Export the notebook as HTML, and return a page that shows it."""
        export = [sys.executable, "-m", "jupyter", "nbconvert", "--to", "html"]
        root = self.server.root
        subprocess.run(
            [*export, self.notebook], cwd=root, check=True, capture_output=True
        )
        page = self.page.context.new_page()
        html = (root / self.notebook).with_suffix(".html")
        page.goto(html.as_uri(), wait_until="domcontentloaded")
        return page

    def kernel_id(self) -> str:
        """Return the id of this notebook's kernel."""
        return str(
            self.page.evaluate(f"() => {NOTEBOOK}.sessionContext.session.kernel.id")
        )

    def restart_kernel(self) -> None:
        """Restart the kernel, as the menu does, and wait until the new one is idle."""
        kernel = f"{NOTEBOOK}.sessionContext.session.kernel"
        self.page.evaluate(f"() => {kernel}.restart()")
        try:
            self.page.wait_for_function(IDLE, timeout=RESTARTS_MS, polling=POLL_MS)
        except TimeoutError:
            # JupyterLab may lose the response to its first request and wait forever.
            self.page.evaluate(f"() => {kernel}.reconnect()")
        self.wait_idle()

    def interrupt_kernel(self) -> None:
        """Interrupt the running cell, as Ctrl-C and the stop button do."""
        self._command("notebook:interrupt-kernel")

    def shutdown_kernel(self) -> None:
        """Shut the kernel down; the notebook stays open."""
        self.page.evaluate(f"() => {{ void {NOTEBOOK}.sessionContext.shutdown(); }}")
        gone = f"() => !{NOTEBOOK}.sessionContext.session?.kernel"
        self._wait_for(gone, "an end of the kernel")

    def kill_kernel(self) -> None:
        """Kill the kernel's process.

        The server notices this within seconds and starts another kernel.
        """
        process = self.kernel_process()
        process.kill()
        process.wait(WAITS_S)

    def kernel_process(self) -> psutil.Process:
        """Return the process of this notebook's kernel."""
        name = f"kernel-{self.kernel_id()}.json.pid"
        return psutil.Process(int((self.server.runtime / name).read_text()))

    def theme(self, theme: Theme) -> None:
        """Switch to a theme, if necessary, and wait for it.

        JupyterLab covers the page while it changes. Changing again before the cover is
        gone would remove it twice, which logs an error.
        """
        light = "true" if theme == "light" else "false"
        shown = f"""() => document.body.dataset.jpThemeLight === '{light}'
            && !document.getElementById("jupyterlab-splash")"""
        if not self.page.evaluate(shown):
            args = {"theme": THEMES[theme]}
            self._command("apputils:change-theme", args)
            self._wait_for(shown, f"the {theme} theme")

    def resize(self, width_px: int, height_px: int) -> None:
        """Give the page another size."""
        self.page.set_viewport_size(ViewportSize(width=width_px, height=height_px))

    def hide_sidebar(self) -> None:
        """Close the sidebar, so that the notebook has the full width."""
        shown = self.page.evaluate("() => !window.jupyterapp.shell.leftCollapsed")
        if shown:
            self._command("application:toggle-left-area")

    def screenshot(self, name: str, of: Locator | None = None) -> Path:
        """Write the page, or one part of it, to build/screenshots/ as `name`.png."""
        return screenshot(of or self.page, name)

    def console_errors(self) -> list[str]:
        """Return the errors that the page has logged so far."""
        return list(self._console)

    def _load(self) -> None:
        """Load JupyterLab with an empty workspace."""
        workspace = f"{self.server.url}/lab/workspaces/{secrets.token_hex(4)}"
        with within(self.page, "JupyterLab"):
            self.page.goto(f"{workspace}?token={self.server.token}")
        self._wait_for("() => Boolean(window.jupyterapp)", "JupyterLab's page")
        # A notebook opened before the layout is restored never becomes the current one.
        self.page.evaluate(RESTORE)
        self._wait_for("() => window.mediakitRestored", "JupyterLab's layout")

    def _wait_until_open(self, *, kernel: bool) -> None:
        self._wait_for(READY, f"the cells of {self.notebook}")
        if kernel:
            self.wait_idle()

    def _command(self, command: str, args: dict[str, Any] | None = None) -> None:
        self.page.evaluate(START, [command, args or {}])
        self._wait_for(OVER, f"the end of {command}")
        error = self.page.evaluate(CALL_ERROR)
        if error is not None:
            raise AssertionError(f"JupyterLab could not do {command}: {error}")

    def _wait_for(self, condition: str, what: str) -> None:
        with within(self.page, what):
            self.page.wait_for_function(condition, polling=POLL_MS)

    def _note_console(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self._note(f"{message.text} ({message.location.get('url', '')})")

    def _note_page_error(self, error: Error) -> None:
        self._note(error.stack or f"{error.name}: {error.message}")

    def _note(self, text: str) -> None:
        if not any(noise in text for noise in NOISE):
            self._console.append(text)
