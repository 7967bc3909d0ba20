"""The button with which the browser downloads a result."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import anywidget
from traitlets import Unicode

from mediakit.client import AsyncJob, JobState
from mediakit.errors import MediakitError
from mediakit.widgets.job.player import browser_url, web_url
from mediakit.widgets.job.results.browser_download import PageSink
from mediakit.widgets.job.text import has_output
from mediakit.widgets.toolkit.background_tasks import NamedTasks
from mediakit.widgets.toolkit.callbacks import sentence_of

DOWNLOAD = "Download"


class DownloadButton(anywidget.AnyWidget):
    """The button; the page fetches the file, or asks the kernel for it."""

    _esm = Path(__file__).parent / "download_button.js"
    url = Unicode().tag(sync=True)
    name = Unicode().tag(sync=True)
    content_type = Unicode().tag(sync=True)


class Panel(Protocol):
    """Where the button stands, as `job_panel.JobPanel` does it."""

    def make(self, widget_type: Any, **traits: Any) -> Any:
        """Make a widget."""

    def note(self, text: str) -> None:
        """Show a sentence."""

    def complain(self, sentence: str) -> None:
        """Show what went wrong."""


class Download:
    """A button that lets the browser save a result.

    The page fetches the file; where it may not, the kernel passes it on in pieces.

    Args:
        job: The job.
        tasks: Runs what the kernel does.
        panel: Makes the button, and shows what became of it.
        environment: See `player.browser_url`.
    """

    def __init__(
        self,
        job: AsyncJob,
        tasks: NamedTasks,
        panel: Panel,
        environment: Mapping[str, str],
    ) -> None:
        self._job = job
        self._tasks = tasks
        self._panel = panel
        self._environment = environment
        self._sinks: dict[int, PageSink] = {}
        self.widget: Any = panel.make(DownloadButton)
        self.widget.on_msg(self._hear)
        self.show(job.state)

    def show(self, state: JobState) -> None:
        """Offer the file where it is now."""
        output = state.record.output
        file = output.file if output is not None else None
        if file is None or not has_output(state) or web_url(file.url) is None:
            return
        self.widget.url = browser_url(file.url, self._environment)
        self.widget.name = state.file_name(file.url)
        self.widget.content_type = file.content_type or ""

    def _hear(self, _: object, said: Mapping[str, Any], __: object) -> None:
        """Take what the page says; it comes from outside, and is not relied on."""
        sink = self._sinks.get(said.get("took") or said.get("stop") or 0)
        if isinstance(said.get("want"), int):
            self._tasks.start(
                f"download {said['want']}", partial(self._pass_on, said["want"])
            )
        elif sink is not None and "took" in said:
            sink.took()
        elif sink is not None:
            sink.stop()
        elif "downloaded" in said:
            self._panel.note(f"Your browser saved {self.widget.name}.")
        elif "failed" in said:
            self._panel.complain(str(said["failed"])[:500])

    async def _pass_on(self, stream: int) -> None:
        sink = PageSink(stream, self._send)
        self._sinks[stream] = sink
        try:
            await self._job.pass_output(sink.take)
            sink.end()
        except MediakitError as error:
            sink.fail(sentence_of(error))
        finally:
            del self._sinks[stream]

    def _send(self, content: dict[str, Any], buffers: list[bytes]) -> None:
        self.widget.send(content, buffers)

    def close(self) -> None:
        """End what is under way, and close the button."""
        for sink in tuple(self._sinks.values()):
            sink.stop()
        self.widget.close()
