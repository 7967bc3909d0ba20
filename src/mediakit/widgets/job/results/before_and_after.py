"""Compares a result with its input, on one slider."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anywidget
from traitlets import Bytes, Unicode

from mediakit.client import JobState
from mediakit.widgets.job.player import LOOPBACK, browser_url, web_url
from mediakit.widgets.job.preview import Preview
from mediakit.widgets.job.text import has_output

HERE = Path(__file__).parent
INPUTS = {
    "image-upscale": "image_url",
    "video-upscale": "video_url",
    "region-replace": "video",
}
"""The field of the input that a result has the shape of, by kind of function."""


@dataclass(frozen=True)
class Pair:
    """An input and the result of it.

    Args:
        medium: "video" or "image".
        before: Where the input is.
        after: Where the result is.
    """

    medium: str
    before: str
    after: str


def pair_of(state: JobState) -> Pair | None:
    """Return what can be compared; None where there is no such input."""
    before = state.body.get(INPUTS.get(state.kind, ""))
    output = state.record.output
    if not has_output(state) or output is None or output.file is None:
        return None
    after = web_url(output.file.url)
    if not isinstance(before, str) or web_url(before) is None or after is None:
        return None
    if output.media_type not in ("video", "image"):
        return None
    return Pair(output.media_type, _as_it_is_now(before, after), after)


def _as_it_is_now(before: str, after: str) -> str:
    """Return where an input is: a sandbox moves to another port when it starts."""
    then, now = urlsplit(before), urlsplit(after)
    if then.hostname not in LOOPBACK or now.hostname not in LOOPBACK:
        return before
    return then._replace(scheme=now.scheme, netloc=now.netloc).geturl()


def compare_traits(
    pair: Pair, preview: Preview, environment: Mapping[str, str]
) -> dict[str, Any]:
    """Return what a `Compare` shows.

    Args:
        pair: The two.
        preview: What was seen of the result: a copy that plays is shown in its place.
        environment: See `player.browser_url`.
    """
    return {
        "medium": pair.medium,
        "before": browser_url(pair.before, environment),
        "after": browser_url(pair.after, environment),
        "after_data": preview.clip or b"",
    }


class Compare(anywidget.AnyWidget):
    """A result over its input, with a slider between them."""

    _esm = HERE / "compare.js"
    _css = HERE / "compare.css"
    medium = Unicode().tag(sync=True)
    before = Unicode().tag(sync=True)
    after = Unicode().tag(sync=True)
    after_data = Bytes().tag(sync=True)
