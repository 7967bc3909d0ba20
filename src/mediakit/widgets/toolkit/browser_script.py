"""The script of a widget: one browser module, joined from several files."""

from __future__ import annotations

import json
import re
from pathlib import Path

from mediakit.widgets.toolkit.styles import KERNEL_GONE

TOOLKIT = Path(__file__).parent
SHARED = ("elements.js", "saved_copies.js", "paid_clicks.js", "player_group.js")


COMMENT = re.compile(r"^[ \t]*//.*\n", re.MULTILINE)


def script_of(folder: Path, *names: str) -> str:
    """Return a widget's script: the shared files, then its own; the last exports."""
    # A widget's module cannot import a file: the browser gets its text alone.
    shared = (TOOLKIT / name for name in SHARED)
    files = (*shared, *(folder / name for name in names))
    said = f"const KERNEL_GONE = {json.dumps(KERNEL_GONE)};"
    return "\n".join([said, *map(code_of, files)])


def code_of(file: Path) -> str:
    """Return a script without comment lines, which no page needs."""
    return COMMENT.sub("", file.read_text("utf-8"))
