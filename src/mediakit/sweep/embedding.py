"""Outputs inside the page of an export, as `data:` URLs within a size limit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mediakit.media import content_type_of, poster_jpeg, size_text
from mediakit.media_html import data_url, result_data_url

PAGE_MAX_BYTES = 24_000_000
"""Of all `data:` URLs in a page: mail programs usually take 25 MB."""
POSTER_PX = 320
URL_HEAD_BYTES = len("data:application/octet-stream;base64,")


@dataclass(frozen=True)
class FetchedOutput:
    """An output on this machine, with a small JPEG of it unless it is a sound."""

    local: Path
    name: str
    medium: str | None
    size_bytes: int
    jpeg: bytes | None


def fetched(local: Path, name: str, medium: str | None) -> FetchedOutput:
    """Read the parts of an output that a page needs; OSError if that fails."""
    size_bytes, jpeg = local.stat().st_size, None
    if medium in ("video", "image"):
        try:
            jpeg = poster_jpeg(local, POSTER_PX)
        except (OSError, RuntimeError, ValueError):  # shown without a poster
            jpeg = None
    return FetchedOutput(local, name, medium, size_bytes, jpeg)


def embedded(outputs: Sequence[FetchedOutput]) -> list[tuple[str | None, str | None]]:
    """Return the `data:` URL of each output and its poster; None if there is no room.

    Posters come first, then the outputs in their order. A poster is counted twice: for
    the player, and for a reader that drops the player.
    """
    left_bytes = PAGE_MAX_BYTES
    posters: list[str | None] = []
    for output in outputs:
        poster_bytes = 2 * _url_bytes(len(output.jpeg or b""))
        has_room = output.jpeg is not None and poster_bytes <= left_bytes
        posters.append(data_url(output.jpeg) if has_room and output.jpeg else None)
        left_bytes -= poster_bytes if has_room else 0
    urls: list[str | None] = []
    for output in outputs:
        url_bytes = _url_bytes(output.size_bytes)
        has_room = url_bytes <= left_bytes
        left_bytes -= url_bytes if has_room else 0
        urls.append(_url(output) if has_room else None)
    return list(zip(urls, posters, strict=True))


def left_out_text(left_out: int, total: int) -> str:
    """Return a note about the outputs missing from a page; empty without any."""
    if not left_out:
        return ""
    files, are = ("output", "is") if total == 1 else ("outputs", "are")
    return (
        f"{left_out:,} of {total:,} {files} {are} not in this page, which has room for "
        f'{size_text(PAGE_MAX_BYTES)}; results.export("a_folder") saves all of them.'
    )


def _url(output: FetchedOutput) -> str:
    content = output.local.read_bytes()
    return result_data_url(content, output.medium or "", content_type_of(output.name))


def _url_bytes(size_bytes: int) -> int:
    return URL_HEAD_BYTES + 4 * -(-size_bytes // 3)
