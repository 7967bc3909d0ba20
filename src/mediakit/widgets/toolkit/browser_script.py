"""The script of a widget: one module in the browser, made of several files."""

from __future__ import annotations

from pathlib import Path

TOOLKIT = Path(__file__).parent


def script_of(folder: Path, *names: str) -> str:
    """Return a widget's script: what all share, then files; the last exports."""
    # A widget's module cannot import a file: the browser gets its text alone.
    shared = (TOOLKIT / "elements.js", TOOLKIT / "paid_clicks.js")
    files = (*shared, *(folder / name for name in names))
    return "\n".join(file.read_text("utf-8") for file in files)
