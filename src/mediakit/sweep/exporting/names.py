"""Names of exported files: they show what varies, and are valid everywhere."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import PurePosixPath
from urllib.parse import urlsplit

from mediakit.media import result_suffix
from mediakit.safe_text import with_shown_urls
from mediakit.sweep.scoring import Output

LONGEST_VALUE, LONGEST_STEM = 24, 80
ID_DIGITS = (4, 8, 16, 32)

Values = Sequence[tuple[str, str]]


def value_text(value: object) -> str:
    """Format the value of an axis; a job as its id, None as empty text.

    URLs are without passwords and signatures, because exports are passed on.
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping | list | tuple):
        text = json.dumps(value, ensure_ascii=False, default=value_text)
        return with_shown_urls(text)
    return with_shown_urls(str(getattr(value, "id", value)))


def file_names(values: Values, output: Output, media_type: str | None) -> Iterator[str]:
    """Yield the possible names of a file, the shortest first.

    They end in digits of the job's hash, so that a job has the same name in every
    export.

    Args:
        values: The axes and their values.
        output: The output in the file.
        media_type: "video", "image" or "audio".
    """
    stem = file_stem(values)
    digits = hashlib.sha256(output.job_id.encode()).hexdigest()
    suffix = result_suffix(output.source, media_type or "")
    for many in ID_DIGITS:
        yield "_".join(filter(None, [stem, digits[:many]])) + suffix


def file_stem(values: Values) -> str:
    """Return the values as part of a file name, in lowercase ASCII."""
    words = [_word(axis, value) for axis, value in values]
    return "_".join(filter(None, words))[:LONGEST_STEM].rstrip("_-.")


def _word(axis: str, value: str) -> str:
    with suppress(ValueError):
        return _slug(axis) + f"{float(value):g}"
    if value in ("true", "false"):
        return f"{_slug(axis)}-{value}"
    if "://" in value:
        value = PurePosixPath(urlsplit(value).path).stem
    slug = _slug(value)
    if len(slug) <= LONGEST_VALUE:
        return slug
    return slug[: LONGEST_VALUE + 1].rpartition("-")[0] or slug[:LONGEST_VALUE]


def _slug(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "-", plain.lower()).strip("-")
