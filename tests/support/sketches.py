"""Makes sandboxes in other processes render sketches instead of complete videos.

A complete video takes 1.5 CPU seconds, a sketch a tenth of that.
"""

from __future__ import annotations

from pathlib import Path

SKETCH = """
from functools import partialmethod
from mediakit.sandbox.settings import Sandbox
Sandbox.whole_films, Sandbox.__init__ = Sandbox.__init__, partialmethod(
    Sandbox.__init__, sketch=True
)
"""
WHOLE_FILMS = """
from mediakit.sandbox.settings import Sandbox
Sandbox.__init__ = Sandbox.whole_films
"""
"""For a cell whose jobs must take a while."""


def add_startup(ipython: Path, code: str = "") -> None:
    """Make every IPython with this folder render sketches, after running this code."""
    startup = ipython / "profile_default" / "startup"
    startup.mkdir(parents=True, exist_ok=True)
    (startup / "00-tests.py").write_text(SKETCH + code, "utf-8")
