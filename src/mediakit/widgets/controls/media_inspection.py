"""The result of inspecting a medium: its properties, or why it is unsuitable."""

from __future__ import annotations

from dataclasses import dataclass, field

from mediakit.media_limits import MediaInfo, MediaName
from mediakit.rules import Problem


@dataclass(frozen=True)
class Inspection:
    """The known facts about one medium."""

    info: MediaInfo | None = None  # None if the medium is unsuitable or unknown
    problem: Problem | None = None  # why the medium is unsuitable; without a field
    # a small JPEG; None when there is no picture
    thumbnail: bytes | None = field(default=None, repr=False)
    title: str = ""  # title of the job in this history that made the medium
    words: str = ""  # the title with facts about the job


MediaKey = tuple[MediaName, str]
"""The expected medium, and its path or URL in the form."""
