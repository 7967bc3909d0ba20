"""The result of inspecting one medium: its properties, or why it is unsuitable."""

from __future__ import annotations

from dataclasses import dataclass, field

from mediakit.media_limits import MediaInfo, MediaName
from mediakit.rules import Problem


@dataclass(frozen=True)
class Inspection:
    """What was found out about one medium.

    Args:
        info: What it is; None when it will not do, or is not known.
        problem: Why it will not do (its field is not known here); None when it will.
        thumbnail: A small JPEG of it; None when there is no picture to show.
        title: The title of the job that made it, where it is one of this history.
        words: The same, with its facts.
    """

    info: MediaInfo | None = None
    problem: Problem | None = None
    thumbnail: bytes | None = field(default=None, repr=False)
    title: str = ""
    words: str = ""


MediaKey = tuple[MediaName, str]
"""Which medium is expected, and the path or URL as it stands in the form."""
