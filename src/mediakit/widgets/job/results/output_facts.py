"""The size and the length of a result, read from its file."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from io import SEEK_END
from typing import Any, BinaryIO, Self

from mediakit.media import size_text
from mediakit.media.probing import probe_file
from mediakit.media.remote import PROBE_BYTES
from mediakit.media_limits import MediaName

MEDIA: dict[str, MediaName] = {"video": "video", "image": "image", "audio": "audio"}


@dataclass(frozen=True)
class OutputFacts:
    """What is known of a result's file; None is unknown.

    Args:
        width: Pixels across.
        height: Pixels down.
        length_s: Seconds.
        size_bytes: Its length in bytes.
    """

    width: int | None = None
    height: int | None = None
    length_s: float | None = None
    size_bytes: int | None = None

    @classmethod
    def read(cls, file: BinaryIO, media_type: str) -> Self:
        """Read the facts of an open file; nothing is known of what cannot be read."""
        size_bytes = file.seek(0, SEEK_END)
        file.seek(0)
        medium = MEDIA.get(media_type)
        if medium is None:
            return cls(size_bytes=size_bytes)
        try:
            info = probe_file(file, medium, size_bytes, probe_bytes=PROBE_BYTES)
        except (OSError, ValueError):
            return cls(size_bytes=size_bytes)
        finally:
            file.seek(0)
        return cls(info.width, info.height, info.duration_s, size_bytes)

    @classmethod
    def from_json(cls, said: dict[str, Any]) -> Self:
        """Return facts that were kept.

        Raises:
            TypeError: They are not facts of this version.
        """
        return cls(**said)

    @property
    def as_json(self) -> dict[str, Any]:
        """Return what `from_json` reads."""
        return asdict(self)

    @property
    def texts(self) -> tuple[str, ...]:
        """Write what is known: "1280 x 720", "3.0 s", "1.2 MB"."""
        return tuple(filter(None, (self.pixels_text, self.length_text, self._size)))

    @property
    def pixels_text(self) -> str:
        """Write the size in pixels; nothing where it is unknown."""
        if not self.width or not self.height:
            return ""
        return f"{self.width} \N{MULTIPLICATION SIGN} {self.height}"

    @property
    def length_text(self) -> str:
        """Write the length in seconds; nothing where it is unknown."""
        return f"{self.length_s:.1f} s" if self.length_s else ""

    @property
    def _size(self) -> str:
        return size_text(self.size_bytes) if self.size_bytes else ""


NO_FACTS = OutputFacts()
