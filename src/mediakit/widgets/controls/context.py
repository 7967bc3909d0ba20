"""The context that all controls of a form share."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mediakit.widgets.toolkit.callbacks import Guard
from mediakit.widgets.toolkit.widget_factory import WidgetFactory
from mediakit.widgets.uploads.path_completion import Work
from mediakit.widgets.uploads.upload_folder import UploadFolder

Keep = Callable[[str, bytes, Callable[[Path], None]], None]
"""Stores the bytes of a file under a name and tells, later, where they are."""


@dataclass(frozen=True)
class WidgetContext:
    """What every control is made with.

    Args:
        factory: Makes the widgets.
        guard: Wraps the handlers.
        keep: Stores uploaded files.
        draw: Draws a whole number between two, both included.
        prompts: What the prompts' documentation says, such as which media they cite.
        cite: Puts a citation into the prompt; None where there is no prompt.
        work: Does what may block; None where no thread is there for it, and paths
            then complete no more, and files come from the browser in one message.
        uploads: Where files from the browser stay; None where none are kept.
        beside: Makes the buttons that stand beside a media control's upload button,
            and puts what they open below it; None for no more buttons.
    """

    factory: WidgetFactory
    guard: Guard
    keep: Keep
    draw: Callable[[int, int], int] = field(default=random.randint)
    prompts: str = ""
    cite: Callable[[str], object] | None = None
    work: Work | None = None
    uploads: UploadFolder | None = None
    beside: Callable[[Any], tuple[Any, ...]] | None = None
