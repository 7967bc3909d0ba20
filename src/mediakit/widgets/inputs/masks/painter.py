"""The button that opens a canvas to paint a mask, and what it saves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import anywidget
import ipywidgets as w
from anyio import to_thread
from traitlets import Bytes, Int, List

from mediakit.client.media_inputs import RemoteMedia
from mediakit.media import is_url
from mediakit.widgets.inputs.masks.frames import FRAME_MAX_PX, Frame, frame_of
from mediakit.widgets.inputs.masks.strokes import (
    Stroke,
    is_empty,
    mask_png,
    smaller_png,
)
from mediakit.widgets.inputs.result_picker import CSS, Run
from mediakit.widgets.media.media_fields import MediaControl
from mediakit.widgets.toolkit.styles import line_html, style_tag
from mediakit.widgets.toolkit.widget_factory import close_tree

FILE_NAME = "mask.png"
NO_CLIP = "Choose the video first: the mask is painted on a frame of it."
READING = "Reading a frame of the video…"
UNREADABLE = "No frame of the video can be read, so there is nothing to paint on."
EMPTY = "Paint the region to replace first."

HERE = Path(__file__).parent


class MaskWidget(anywidget.AnyWidget):
    """The canvas: the frame and an earlier mask are set here.

    What people paint comes back as "strokes"; a message says when they are done.
    """

    _esm = HERE / "mask.js"
    _css = HERE / "mask.css"
    frame = Bytes().tag(sync=True)
    base = Bytes().tag(sync=True)
    width = Int().tag(sync=True)
    height = Int().tag(sync=True)
    strokes: Any = List().tag(sync=True)


class MaskPainter:
    """Paints the mask of a clip, and gives it to the control as a file.

    Args:
        control: The control of the mask.
        clip: Returns the path or URL of the clip; None while there is none.
        remote: Reads what is behind URLs.
        run: Starts what takes time.
    """

    def __init__(
        self,
        control: MediaControl,
        clip: Callable[[], object],
        remote: RemoteMedia,
        run: Run,
    ) -> None:
        self._control = control
        self._clip = clip
        self._remote = remote
        self._run = run
        self._context = control.context
        self._panel: Any = None
        self._base: bytes | None = None
        self._size = (0, 0)
        self._opened = 0
        self.button = self._context.factory.make(
            w.ToggleButton,
            "mk-small mk-opens",
            description="Paint…",
            tooltip="Paint the mask on a frame of the video",
        )
        self.button.observe(self._context.guard(self._turned), "value")

    def _turned(self, change: Any) -> None:
        if change.new:
            self._open()
        else:
            self._close()

    def _open(self) -> None:
        make = self._context.factory.make
        self._said = make(w.HTML, "mk-live")
        self._style = make(w.HTML, "mk-pick-style", value=style_tag(CSS))
        children = (self._style, self._said)
        self._panel = make(w.VBox, "mk-pick", children=children)
        around = self._control.widget
        around.children = (*around.children, self._panel)
        self._opened += 1
        opened, clip, mask = self._opened, self._clip(), self._control.value
        if not isinstance(clip, str) or not clip:
            self._say(NO_CLIP)
            return
        self._say(READING)

        async def read() -> None:
            frame = await frame_of("video", clip, self._remote)
            base = await to_thread.run_sync(_mask_at, mask)
            self._context.guard(self._show)(opened, frame, base)

        self._run(read)

    def _show(self, opened: int, frame: Frame | None, base: bytes | None) -> None:
        if opened != self._opened or self._panel is None:
            return
        if frame is None:
            self._say(UNREADABLE)
            return
        self._say("")
        self._base, self._size = base, frame.size
        width, height = frame.size
        canvas = self._context.factory.make(
            MaskWidget,
            "mk-wide",
            frame=frame.jpeg,
            base=b"" if base is None else smaller_png(base, FRAME_MAX_PX),
            width=width,
            height=height,
        )
        canvas.on_msg(self._context.guard(self._heard))
        self._panel.children = (self._style, canvas, self._said)

    def _close(self) -> None:
        panel, self._panel = self._panel, None
        if panel is not None:
            self._opened += 1
            around = self._control.widget
            left = (each for each in around.children if each is not panel)
            around.children = tuple(left)
            close_tree(panel)

    def _heard(self, _: object, message: Any, __: object) -> None:
        strokes = message.get("strokes")
        if message.get("done") and isinstance(strokes, list):
            self._finish([each for each in strokes if isinstance(each, dict)])

    def _finish(self, strokes: list[Stroke]) -> None:
        """Make the mask a file, and the file the control's value."""
        size, base, opened = self._size, self._base, self._opened

        async def paint() -> None:
            png = await to_thread.run_sync(mask_png, size, strokes, base)
            self._context.guard(self._take)(opened, png)

        self._run(paint)

    def _take(self, opened: int, png: bytes) -> None:
        if opened != self._opened:
            return
        if is_empty(png):
            self._say(EMPTY)
            return
        folder = self._context.uploads
        self._context.work(lambda: folder.keep(FILE_NAME, png), self._kept)

    def _kept(self, path: Path) -> None:
        self.button.value = False
        with self._control.quietly():
            self._control.take(str(path))
        self._control.tell()
        self.button.focus()

    def _say(self, text: str) -> None:
        self._said.value = line_html(text)


def _mask_at(value: object) -> bytes | None:
    """Return the mask to continue with; None for none on this machine."""
    if not isinstance(value, str) or not value or is_url(value):
        return None
    try:
        png = Path(value).expanduser().read_bytes()
        smaller_png(png, FRAME_MAX_PX)  # it may be no picture
    except (OSError, RuntimeError, ValueError):
        return None
    return png
