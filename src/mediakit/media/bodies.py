"""The media of a body: paths and URLs, what is known of them, will they do."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from mediakit.errors import InputError
from mediakit.media.probing import MediaInfo, probe
from mediakit.rates import EstimateKind
from mediakit.rules import Found, Problem, all_of
from mediakit.schema import InputFacts

if TYPE_CHECKING:
    from mediakit.catalog import Function, MediaItem
    from mediakit.limits import MediaLimits

# Any length will do to see whether the price would change with it.
SUPPOSED_S = 1.0
# What looks like the URL of another scheme than http(s).
_OTHER_URL = re.compile(r"[a-z][a-z0-9+.-]+://|data:", re.IGNORECASE)


def is_url(value: str) -> bool:
    """Tell an http(s) URL from a local path."""
    return value.lower().startswith(("http://", "https://"))


def local_file(value: str | Path) -> Path:
    """Return the file that a value names, with the user's home filled in."""
    try:
        return Path(value).expanduser()
    except RuntimeError:  # "~nobody/cat.png": there is no such home
        return Path(value)


def probe_named(item: MediaItem) -> MediaInfo:
    """Read what the local file that a body names is; see `probe`.

    Args:
        item: The medium, as the body names it.

    Raises:
        InputError: It names no file, or one that will not do.
    """
    # Before it becomes a path, which would write "ftp://a" as "ftp:/a".
    if _OTHER_URL.match(item.value):
        accepted = "an http(s) URL or an existing file"
        raise InputError(item.label, got=item.value, accepted=accepted)
    return probe(local_file(item.value), item.kind, item.label)


def stand_in(value: str) -> str:
    """Return a URL that stands for a local path in checks and prices."""
    return value if is_url(value) else f"https://file.invalid/{quote(value)}"


def body_with_stand_ins(
    function: Function, body: Mapping[str, object]
) -> tuple[dict[str, object], dict[str, str]]:
    """Replace local paths by URLs that stand for them, for checking and pricing.

    Returns:
        The body, and the stand-in of each path.
    """
    paths = {
        item.value: stand_in(item.value)
        for item in function.media(body)
        if item.value and not is_url(item.value)
    }
    return function.with_media(body, paths), paths


def facts_of(
    function: Function, body: Mapping[str, object], infos: Mapping[str, MediaInfo]
) -> InputFacts:
    """Collect the known durations of a body's media, by URL or stand-in.

    Args:
        function: The function.
        body: The body, as people wrote it.
        infos: What is known of each medium, by its value in the body.
    """
    seconds = {
        stand_in(item.value): info.duration_s
        for item in function.media(body)
        if (info := infos.get(item.value)) and info.duration_s is not None
    }
    return InputFacts(seconds=seconds)


def preflight(
    function: Function, body: Mapping[str, object], infos: Mapping[str, MediaInfo]
) -> list[Problem]:
    """Hold a body's media against what the function accepts of them.

    Args:
        function: The function.
        body: The body, as people wrote it.
        infos: What is known of each medium, by its value in the body; of the others
            nothing is said.

    Returns:
        One problem for each medium that will not do, and one for each field whose
        media are too long together.
    """
    if not infos:
        return []
    limits = function.media_limits(body_with_stand_ins(function, body)[0])
    known = [
        (item, info)
        for item in function.media(body)
        if (info := infos.get(item.value)) is not None
    ]
    return [
        problem
        for field, limit in limits.items()
        for problem in _problems(
            field, limit, [(i.label, info) for i, info in known if i.field == field]
        )
    ]


def _problems(
    field: str, limits: MediaLimits, found: list[tuple[str, MediaInfo]]
) -> list[Problem]:
    each = [
        _as_one(problems)
        for label, info in found
        if (problems := limits.problems(label, info))
    ]
    total = limits.total_problem(field, [info for _, info in found])
    # A single clip that is too long by itself is not also too long "together".
    if total is None or (each and len(found) == 1):
        return each
    return [*each, total]


def _as_one(problems: list[Problem]) -> Problem:
    got = Found(all_of(str(problem.got) for problem in problems))
    accepted = all_of(problem.accepted for problem in problems)
    return Problem(problems[0].field, got, accepted)


def lengths_wanted(
    function: Function, body: Mapping[str, object], facts: InputFacts
) -> list[MediaItem]:
    """List the clips and sounds behind URLs on whose unknown length the price depends.

    Args:
        function: The function.
        body: The body, as people wrote it.
        facts: The lengths that are known, by URL or stand-in.

    Returns:
        One item for each URL; none while there is no price.
    """
    unknown = {
        item.value: item
        for item in function.media(body)
        if item.kind != "image" and is_url(item.value)
        if item.value not in facts.seconds
    }
    if not unknown:
        return []
    checked, _ = body_with_stand_ins(function, body)
    if not _is_bound(function, checked, facts):
        return []
    supposed = dict(facts.seconds) | dict.fromkeys(unknown, SUPPOSED_S)
    with_all = function.estimate(checked, replace(facts, seconds=supposed))

    def matters(url: str) -> bool:
        seconds = {known: s for known, s in supposed.items() if known != url}
        without = function.estimate(checked, replace(facts, seconds=seconds))
        return without != with_all

    return [item for url, item in unknown.items() if matters(url)]


def _is_bound(
    function: Function, checked: Mapping[str, object], facts: InputFacts
) -> bool:
    try:
        estimate = function.estimate(checked, facts)
    except InputError:
        return False
    return estimate.kind is EstimateKind.UPPER_BOUND
