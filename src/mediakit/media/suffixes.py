"""File suffixes of results."""

from __future__ import annotations

from pathlib import PurePosixPath
from urllib.parse import urlsplit

_BY_CONTENT_TYPE = {
    "video/mp4": ".mp4",
    "video/quicktime": ".mov",
    "video/webm": ".webm",
    "video/x-matroska": ".mkv",
    "video/x-msvideo": ".avi",
    "image/png": ".png",
    "image/jpeg": ".jpg",
    "image/webp": ".webp",
    "image/gif": ".gif",
    "image/avif": ".avif",
    "image/bmp": ".bmp",
    "image/tiff": ".tiff",
    "audio/mpeg": ".mp3",
    "audio/wav": ".wav",
    "audio/x-wav": ".wav",
    "audio/mp4": ".m4a",
    "audio/ogg": ".ogg",
    "audio/flac": ".flac",
    "audio/aac": ".aac",
}
_IN_URLS = {*_BY_CONTENT_TYPE.values(), ".jpeg", ".m4v", ".tif"}
_BY_MEDIA_TYPE = {"video": ".mp4", "image": ".png", "audio": ".mp3"}


def result_suffix(url: str, media_type: str, content_type: str | None = None) -> str:
    """Return the suffix for a result's file.

    A URL is the service's choice. Only the suffix of a medium is taken from it: a
    result that is saved as ".html" would run its scripts when it is opened.

    Args:
        url: The URL of the result.
        media_type: "video", "image" or "audio".
        content_type: The content type, such as "video/mp4"; None if unknown.
    """
    named = (content_type or "").partition(";")[0].strip().lower()
    in_url = PurePosixPath(urlsplit(url).path).suffix.lower()
    if named in _BY_CONTENT_TYPE:
        return _BY_CONTENT_TYPE[named]
    return in_url if in_url in _IN_URLS else _BY_MEDIA_TYPE.get(media_type, "")
