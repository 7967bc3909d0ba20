"""Cells run in a real kernel, without a browser."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

CELL_TIMEOUT_S = 600


def run_cells(
    cells: Sequence[str], folder: Path, *, allow_errors: bool = False
) -> list[Any]:
    """Run cells one after the other in one new kernel."""
    return list(run_notebook(cells, folder, allow_errors=allow_errors).cells)


def run_notebook(
    cells: Sequence[str], folder: Path, *, allow_errors: bool = False
) -> Any:
    """Run cells as `run_cells` does, and return the notebook as it would be saved."""
    new_cell: Callable[[str], Any] = nbformat.v4.new_code_cell
    new_notebook: Callable[..., Any] = nbformat.v4.new_notebook
    notebook = new_notebook(cells=[new_cell(code) for code in cells])
    place = {"metadata": {"path": str(folder)}}
    NotebookClient(
        notebook,
        timeout=CELL_TIMEOUT_S,
        startup_timeout=CELL_TIMEOUT_S,
        # What a busy kernel publishes late would else be left out.
        iopub_timeout=CELL_TIMEOUT_S,
        kernel_name="python3",
        resources=place,
        allow_errors=allow_errors,
    ).execute()
    return notebook
