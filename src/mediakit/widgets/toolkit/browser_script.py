"""The script of a widget: one module in the browser, made of several files."""

from __future__ import annotations

import re
from pathlib import Path

TOOLKIT = Path(__file__).parent
SHARED = ("elements.js", "saved_copies.js", "paid_clicks.js", "player_group.js")


COMMENT = re.compile(r"^[ \t]*//.*\n", re.MULTILINE)


def script_of(folder: Path, *names: str) -> str:
    """Return a widget's script: what all share, then files; the last exports."""
    # A widget's module cannot import a file: the browser gets its text alone.
    shared = (TOOLKIT / name for name in SHARED)
    files = (*shared, *(folder / name for name in names))
    return "\n".join(map(code_of, files))


def code_of(file: Path) -> str:
    """Return a script without its lines of comment, which no page needs."""
    return COMMENT.sub("", file.read_text("utf-8"))
