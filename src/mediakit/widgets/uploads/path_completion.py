"""Completes paths while the user types."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from mediakit.media import is_url

MOST_OPTIONS = 40
MOST_LOOKED_AT = 5_000
"""How many entries of a folder are read; a longer one is completed in part."""

VOILA = "VOILA_REQUEST_URL"

Work = Callable[[Callable[[], Any], Callable[[Any], object]], object]
"""Does something on a worker thread, and hands over what it returns."""


def lists_folders(environment: Mapping[str, str]) -> bool:
    """Tell whether to list folders; they are no business of a visitor of Voilà."""
    return VOILA not in environment


def completions(text: str, suffixes: tuple[str, ...]) -> tuple[str, ...]:
    """Return the paths that a typed text may become; it reads the folder, and blocks.

    Folders end with a slash. Hidden files come where a dot was typed.

    Args:
        text: What was typed; the options begin with it, but for upper and lower case.
        suffixes: The endings of the files that are wanted, in lower case.

    Returns:
        At most 40 paths by name; none for a URL and where nothing was typed.
    """
    if not text or is_url(text):
        return ()
    if text == "~":
        return ("~/",)
    cut = text.rfind("/") + 1
    head, begun = text[:cut], text[cut:]
    try:
        with os.scandir(Path(head or ".").expanduser()) as entries:
            seen = islice(entries, MOST_LOOKED_AT)
            found = sorted(_matching(seen, begun.lower(), suffixes), key=str.lower)
    except (OSError, RuntimeError, ValueError):
        # There is no such folder or home, or it may not be read.
        return ()
    options = (head + name for name in found[:MOST_OPTIONS])
    return tuple(option for option in options if option != text)


def _matching(
    entries: Iterator[os.DirEntry[str]], begun: str, suffixes: tuple[str, ...]
) -> Iterator[str]:
    for entry in entries:
        name = entry.name
        is_hidden = name.startswith(".") and not begun.startswith(".")
        if is_hidden or not name.lower().startswith(begun):
            continue
        if entry.is_dir():
            yield f"{name}/"
        elif name.lower().endswith(suffixes):
            yield name


class PathCompleter:
    """Completes what is typed into one box, looking at one folder at a time.

    A folder that answers slowly holds up neither the typing nor other boxes: what is
    typed meanwhile waits, and only the newest of it is looked up.

    Args:
        work: Reads folders on a worker thread.
        suffixes: Returns the endings of the files that are wanted.
        show: Takes the options.
    """

    def __init__(
        self,
        work: Work,
        suffixes: Callable[[], tuple[str, ...]],
        show: Callable[[tuple[str, ...]], object],
    ) -> None:
        self._work = work
        self._suffixes = suffixes
        self._show = show
        self._wanted = ""
        self._looking = False

    def typed(self, text: str) -> None:
        """Look up what a text may become."""
        self._wanted = text
        if not self._looking:
            self._look()

    def _look(self) -> None:
        self._looking = True
        text, suffixes = self._wanted, self._suffixes()
        self._work(
            lambda: completions(text, suffixes), lambda found: self._take(text, found)
        )

    def _take(self, text: str, found: tuple[str, ...]) -> None:
        self._looking = False
        if text == self._wanted:
            self._show(found)
        else:
            self._look()
