"""Find the installed packages and extras, and the front end of this process."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

from mediakit.notebook import in_notebook

NOTABLE = (
    *("ipython", "ipykernel", "ipywidgets", "anywidget", "jupyterlab", "notebook"),
    *("voila", "numpy", "pandas", "matplotlib", "pydantic", "httpx", "sqlalchemy"),
    *("av", "pillow"),
)
EXTRAS: Mapping[str, tuple[str, ...]] = {
    "dask": ("distributed",),
    "excel": ("openpyxl",),
    "parquet": ("pyarrow",),
    "remote": ("fsspec",),
    "sandbox": ("httptools", "starlette", "uvicorn"),
    "socks": ("socksio",),
    "team": ("psycopg",),
    "timeline": ("anywidget",),
    "voila": ("ipykernel", "voila"),
}
"""The modules that each extra installs."""
# An earlier front end can start a later one, so the first match counts.
FRONT_ENDS = {
    "VOILA_REQUEST_URL": "Voilà",
    "COLAB_RELEASE_TAG": "Colab",
    "VSCODE_PID": "VS Code",
    "JPY_SESSION_NAME": "JupyterLab or Notebook",
}


def versions() -> str:
    """List the most relevant packages with their versions."""
    return ", ".join(f"{name} {found}" for name, found in _found(NOTABLE))


def _found(names: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for name in names:
        try:
            yield name, version(name)
        except PackageNotFoundError:
            continue


def missing_modules(extra: str) -> list[str]:
    """Return which modules of an extra are not installed."""
    return [name for name in EXTRAS[extra] if find_spec(name) is None]


def extras() -> str:
    """List the extras that are installed, and those that are not."""
    absent = [extra for extra in EXTRAS if missing_modules(extra)]
    there = [extra for extra in EXTRAS if extra not in absent]
    text = ", ".join(there) or "none"
    return f"{text} (not installed: {', '.join(absent)})" if absent else text


def front_end(environ: Mapping[str, str] = os.environ) -> str:
    """Return the name of the front end that shows this process's output."""
    if in_notebook():
        named = (name for variable, name in FRONT_ENDS.items() if variable in environ)
        return next(named, "a Jupyter kernel")
    in_ipython = "IPython.core.getipython" in sys.modules and _has_shell()
    return "IPython in a terminal" if in_ipython else "Python without a notebook"


def _has_shell() -> bool:
    from IPython.core.getipython import get_ipython

    return get_ipython() is not None


def install_line(extra: str) -> str:
    """Return the line that installs an extra here."""
    command = f'pip install "mediakit[{extra}]"'
    if in_notebook():
        return f"%{command} (then restart the kernel)"
    return f"python -m {command}"
