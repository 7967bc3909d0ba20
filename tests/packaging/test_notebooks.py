"""Every notebook runs from top to bottom on a fresh sandbox, and keeps its form."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from mediakit.history import History
from tests.support.offline import Offline

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
PATHS = sorted(NOTEBOOKS.glob("*.ipynb"))
QUICKSTART = "01_quickstart.ipynb"
TEAM = "06_team_history.ipynb"

CELL_TIMEOUT_S = 60
MAX_CODE_CELLS = 25
MAX_QUICKSTART_CODE_CELLS = 10
MAX_CODE_LINES = 10
COST = re.compile(r"spends\s+\$\d+\.\d\d")
# Warnings about our own code are faults; those about other packages are theirs.
STARTUP = """
import warnings
warnings.filterwarnings("error", module=r"mediakit(\\.|$)")
"""

each_notebook = pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)


def read(path: Path) -> Any:
    return nbformat.read(path, as_version=4)


def code_cells(notebook: Any) -> list[Any]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def kernel_environment(folder: Path) -> dict[str, str]:
    startup = folder / "ipython" / "profile_default" / "startup"
    startup.mkdir(parents=True)
    (startup / "00-warnings.py").write_text(STARTUP)
    own = {"MEDIAKIT_HOME": folder / "home", "IPYTHONDIR": folder / "ipython"}
    return {**os.environ, **{name: str(path) for name, path in own.items()}}


def test_the_quickstart_is_there() -> None:
    assert QUICKSTART in [path.name for path in PATHS]


def run(path: Path, tmp_path: Path, **settings: str) -> Any:
    """Execute a notebook in a copy of the folder and without a network.

    Returns:
        The notebook with its outputs.
    """
    folder = tmp_path / "notebooks"
    shutil.copytree(NOTEBOOKS, folder)
    notebook = read(path)
    client = NotebookClient(
        notebook,
        timeout=CELL_TIMEOUT_S,
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
    )
    offline = Offline(tmp_path)
    client.execute(env=kernel_environment(tmp_path) | offline.variables | settings)
    assert offline.tried
    assert offline.outside == set()
    return notebook


@each_notebook
def test_a_notebook_runs_from_top_to_bottom(path: Path, tmp_path: Path) -> None:
    notebook = run(path, tmp_path)
    assert all(cell.execution_count for cell in code_cells(notebook))
    expected = [
        "raises-exception" in cell.metadata.get("tags", [])
        for cell in code_cells(notebook)
    ]
    raised = [
        any(output.output_type == "error" for output in cell.outputs)
        for cell in code_cells(notebook)
    ]
    assert raised == expected


def test_the_team_shares_a_postgres_where_one_is_set(
    tmp_path: Path, postgres_url: str
) -> None:
    notebook = run(NOTEBOOKS / TEAM, tmp_path, MEDIAKIT_HISTORY=postgres_url)

    printed = [each.get("text", "") for c in code_cells(notebook) for each in c.outputs]
    assert not any("MEDIAKIT_HISTORY is not set" in text for text in printed)
    history = History(postgres_url)
    assert set(history.frame()["project"]) == {"harbor teaser", "social clips"}
    history.close()
    assert not list(tmp_path.rglob("history.sqlite3"))


@each_notebook
def test_a_notebook_begins_with_its_title_and_its_cost(path: Path) -> None:
    first = read(path).cells[0]
    assert first.cell_type == "markdown"
    assert re.match(r"# \S.*\n", first.source)
    assert COST.search(first.source)


@each_notebook
def test_a_notebook_ends_with_its_claim(path: Path) -> None:
    assert code_cells(read(path))[-1].source.lstrip().startswith("assert ")


@each_notebook
def test_a_notebook_is_short(path: Path) -> None:
    cells = code_cells(read(path))
    limit = MAX_QUICKSTART_CODE_CELLS if path.name == QUICKSTART else MAX_CODE_CELLS
    assert len(cells) <= limit
    for cell in cells:
        assert len(cell.source.splitlines()) <= MAX_CODE_LINES, cell.source


@each_notebook
def test_a_notebook_has_the_newest_format(path: Path) -> None:
    notebook = read(path)
    assert (notebook.nbformat, notebook.nbformat_minor) == (4, 5)
    assert notebook.metadata.kernelspec.name == "python3"
    nbformat.validate(notebook)
