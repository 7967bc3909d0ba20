"""The context that all controls of a form share."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from mediakit.widgets.toolkit.callbacks import Guard
from mediakit.widgets.toolkit.widget_factory import WidgetFactory
from mediakit.widgets.uploads.chunked_upload import Work
from mediakit.widgets.uploads.upload_folder import UploadFolder


@dataclass(frozen=True)
class ViewContext:
    """What the widgets of a view are made with.

    Args:
        factory: Makes the widgets.
        guard: Wraps the handlers.
    """

    factory: WidgetFactory
    guard: Guard


@dataclass(frozen=True)
class WidgetContext(ViewContext):
    """What every control is made with.

    Args:
        work: Does what may block.
        uploads: Where files from the browser stay.
        draw: Draws a whole number between two, both included.
        prompts: What the prompts' documentation says, such as which media they cite.
        cite: Puts a citation into the prompt; None where there is no prompt.
        beside: Makes the buttons that stand beside a media control's upload button,
            and puts what they open below it; None for no more buttons.
    """

    work: Work
    uploads: UploadFolder
    draw: Callable[[int, int], int] = field(default=random.randint)
    prompts: str = ""
    cite: Callable[[str], object] | None = None
    beside: Callable[[Any], tuple[Any, ...]] | None = None
