"""The notebooks of the course, and where and how the tests execute them."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import nbformat

from tests.support.sketches import add_startup

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
PATHS = sorted(NOTEBOOKS.glob("*.ipynb"))

# Warnings about our code are errors; warnings about other packages are ignored.
STARTUP = """
import warnings
warnings.filterwarnings("error", module=r"mediakit(\\.|$)")
"""


def read(path: Path) -> Any:
    """Read a notebook."""
    return nbformat.read(path, as_version=4)


def code_cells(notebook: Any) -> list[Any]:
    """Return the cells with code."""
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def copied(folder: Path) -> Path:
    """Copy the notebooks, so that what they write stays in a test's folder."""
    return Path(shutil.copytree(NOTEBOOKS, folder / "notebooks"))


def ipython_environment(folder: Path) -> dict[str, str]:
    """Return the environment of an IPython with a new history and our warnings."""
    add_startup(folder / "ipython", STARTUP)
    own = {"MEDIAKIT_HOME": folder / "home", "IPYTHONDIR": folder / "ipython"}
    return {**os.environ, **{name: str(path) for name, path in own.items()}}
