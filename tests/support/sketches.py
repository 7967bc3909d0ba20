"""Films of the tests: sketches, except where somebody looks at every frame."""

from __future__ import annotations

import os
from pathlib import Path

# `make pictures` takes screenshots of films.
WANTS_FILMS = bool(os.environ.get("MEDIAKIT_FILMS"))

# A kernel's own sandbox has no setting for this: people there watch the films.
STARTUP = """
from functools import partial
from mediakit.sandbox.server import running
running.Sandbox = partial(running.Sandbox, sketch=True)
"""


def sketch_in_kernels(ipython_dir: Path) -> None:
    """Let the sandboxes of kernels with this `IPYTHONDIR` draw sketches."""
    startup = ipython_dir / "profile_default" / "startup"
    startup.mkdir(parents=True, exist_ok=True)
    if not WANTS_FILMS:
        (startup / "10-sketches.py").write_text(STARTUP)
