"""The upload button in the browser, for files of any size."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import anywidget
from traitlets import Bool, Unicode

from mediakit.widgets.controls.context import WidgetContext
from mediakit.widgets.uploads.chunked_upload import Check, Receiver

HERE = Path(__file__).parent


class UploadWidget(anywidget.AnyWidget):
    """A button, or how far the upload is.

    How that stands is known in the page alone: a page that is loaded again has no file
    to continue with.
    """

    _esm = HERE / "upload.js"
    _css = HERE / "upload.css"
    label = Unicode().tag(sync=True)  # of the field, for those who cannot see it
    accept = Unicode().tag(sync=True)  # what the file dialog shows
    hint = Unicode().tag(sync=True)  # a tooltip of ipywidgets needs a description
    multiple = Bool(default_value=False).tag(sync=True)
    disabled = Bool(default_value=False).tag(sync=True)
    on_close: Callable[[], object] = partial(bool)

    def close(self) -> None:
        """Close it; what has not arrived in full is removed."""
        self.on_close()
        super().close()


def make_upload(
    context: WidgetContext,
    *,
    check: Check,
    take: Callable[[Path], object],
    **traits: object,
) -> Any:
    """Make a button that takes files of any size from the browser.

    Args:
        context: What widgets are made with.
        check: Says why a file is not taken, before a byte of it is sent.
        take: Hears where a file is that has arrived.
        traits: See `UploadWidget`.
    """
    widget = context.factory.make(UploadWidget, "mk-upload", **traits)
    receiver = Receiver(
        lambda message: widget.send(message),
        context.uploads,
        context.work,
        check=check,
        take=take,
    )
    widget.on_msg(context.guard(receiver.hear))
    widget.on_close = receiver.close
    return widget
