"""The upload button in the browser; files of any size need anywidget."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

from mediakit.widgets.controls.context import WidgetContext
from mediakit.widgets.toolkit.anywidgets import has_anywidget
from mediakit.widgets.uploads.chunked_upload import Check, Receiver

HERE = Path(__file__).parent


def make_upload(
    context: WidgetContext,
    *,
    check: Check,
    take: Callable[[Path], object],
    **traits: object,
) -> Any | None:
    """Make a button that takes files of any size from the browser.

    Args:
        context: What widgets are made with.
        check: Says why a file is not taken, before a byte of it is sent.
        take: Hears where a file is that has arrived.
        traits: See `widget_type`.

    Returns:
        The widget; None where nothing can carry it.
    """
    if context.work is None or context.uploads is None or not has_anywidget():
        return None
    widget = context.factory.make(widget_type(), "mk-upload", **traits)
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


@cache
def widget_type() -> Any:
    """Return the class of the widget; only where anywidget is installed.

    It shows a button, or how far the upload is. How that stands is known in the page
    alone: a page that is loaded again has no file to continue with.
    """
    import anywidget
    from traitlets import Bool, Unicode

    class UploadWidget(anywidget.AnyWidget):
        _esm = HERE / "upload.js"
        _css = HERE / "upload.css"
        label = Unicode().tag(sync=True)  # of the field, for those who cannot see it
        accept = Unicode().tag(sync=True)  # what the file dialog shows
        hint = Unicode().tag(sync=True)  # a tooltip of ipywidgets needs a description
        multiple = Bool(default_value=False).tag(sync=True)
        disabled = Bool(default_value=False).tag(sync=True)
        on_close: Callable[[], object] = partial(bool)

        def close(self) -> None:
            self.on_close()
            super().close()

    return UploadWidget
