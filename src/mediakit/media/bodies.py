"""The media in a body: paths and URLs, known properties, preflight checks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from mediakit.errors import InputError
from mediakit.media.probing import probe
from mediakit.media_limits import MediaInfo
from mediakit.rules import Problem, ValueDescription, all_of
from mediakit.schema import InputFacts

if TYPE_CHECKING:
    from mediakit.catalog import Function, MediaItem
    from mediakit.media_limits import MediaLimits

# Any duration works to see whether the price depends on it.
ASSUMED_DURATION_S = 1.0
# Matches a URL with a scheme other than http(s).
_OTHER_URL = re.compile(r"[a-z][a-z0-9+.-]+://|data:", re.IGNORECASE)


def is_url(value: str) -> bool:
    """Return whether a text is an http(s) URL, not a local path."""
    return value.lower().startswith(("http://", "https://"))


def local_file(value: str | Path) -> Path:
    """Return the path in a value, with `~` expanded."""
    try:
        return Path(value).expanduser()
    except RuntimeError:  # "~unknown/cat.png": there is no such home directory
        return Path(value)


def probe_named(item: MediaItem) -> MediaInfo:
    """Read the properties of a local file in a body; see `probe`."""
    # Check for URLs before creating a path, which would turn "ftp://a" into "ftp:/a".
    if _OTHER_URL.match(item.value):
        accepted = "an http(s) URL or an existing file"
        raise InputError(item.label, got=item.value, accepted=accepted)
    return probe(local_file(item.value), item.kind, item.label)


def placeholder(value: str) -> str:
    """Return a placeholder URL for a local path, for checks and prices."""
    if is_url(value):
        return value
    # A file name need not be UTF-8; Python then has characters that are not valid text.
    return f"https://file.invalid/{quote(value.encode('utf-8', 'surrogatepass'))}"


def body_with_placeholders(
    function: Function, body: Mapping[str, object]
) -> tuple[dict[str, object], dict[str, str]]:
    """Replace local paths by placeholder URLs, for checks and prices."""
    paths = {
        item.value: placeholder(item.value)
        for item in function.media(body)
        if item.value and not is_url(item.value)
    }
    return function.with_media(body, paths), paths


def facts_of(
    function: Function, body: Mapping[str, object], infos: Mapping[str, MediaInfo]
) -> InputFacts:
    """Collect the known durations of a body's media, by URL or placeholder.

    `infos` has the known properties of each medium, by its value in the body.
    """
    seconds = {
        placeholder(item.value): info.duration_s
        for item in function.media(body)
        if (info := infos.get(item.value)) and info.duration_s is not None
    }
    return InputFacts(seconds=seconds)


def preflight(
    function: Function, body: Mapping[str, object], infos: Mapping[str, MediaInfo]
) -> list[Problem]:
    """Check a body's media against the limits of the function.

    `infos` has the known properties of each medium, by its value in the body; other
    media are not checked. There is one problem for each medium that is not acceptable,
    and one for each field whose media are too long together.
    """
    if not infos:
        return []
    limits = function.media_limits(body_with_placeholders(function, body)[0])
    media = [
        (item, info)
        for item in function.media(body)
        if (info := infos.get(item.value)) is not None
    ]
    return [
        problem
        for field, limit in limits.items()
        for problem in _problems(
            field, limit, [(i.label, info) for i, info in media if i.field == field]
        )
    ]


def _problems(
    field: str, limits: MediaLimits, media: list[tuple[str, MediaInfo]]
) -> list[Problem]:
    each = [
        Problem(
            label,
            ValueDescription(all_of(str(problem.got) for problem in problems)),
            all_of(problem.accepted for problem in problems),
        )
        for label, info in media
        if (problems := limits.problems(label, info))
    ]
    total = limits.total_problem(field, [info for _, info in media])
    # A single clip that is too long is not reported as too long "together" as well.
    if total is None or (each and len(media) == 1):
        return each
    return [*each, total]


def lengths_wanted(
    function: Function, body: Mapping[str, object], facts: InputFacts
) -> list[MediaItem]:
    """List clips and sounds at URLs whose unknown duration affects the price.

    Yields one item per URL, and none if there is no price.
    """
    unknown = {
        item.value: item
        for item in function.media(body)
        if item.kind != "image" and is_url(item.value)
        if item.value not in facts.seconds
    }
    if not unknown:
        return []
    checked, _ = body_with_placeholders(function, body)
    supposed = {**facts.seconds, **dict.fromkeys(unknown, ASSUMED_DURATION_S)}
    try:
        without = function.estimate(checked, facts)
    except InputError:
        return []
    with_all = function.estimate(checked, replace(facts, seconds=supposed))
    return [] if with_all == without else list(unknown.values())


def urls_in(body: object) -> Iterator[str]:
    """Yield every URL in a body, at any depth."""
    return filter(is_url, texts_in(body))


def texts_in(body: object) -> Iterator[str]:
    """Yield every text in a body, at any depth."""
    if isinstance(body, Mapping):
        body = list(body.values())
    if isinstance(body, list):
        for item in body:
            yield from texts_in(item)
    elif isinstance(body, str):
        yield body
