"""Find the installed packages and extras, and the front end of this process."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

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
    "voila": ("ipykernel", "voila"),
}
"""The modules that each extra installs."""
BROWSER_HALVES = {
    "anywidget": "anywidget",
    "ipywidgets": "@jupyter-widgets/jupyterlab-manager",
}
"""The folders of the extensions with which a Jupyter server shows widgets."""
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


def server_problem(environ: Mapping[str, str] = os.environ) -> str:
    """Return what the Jupyter server of this kernel lacks, and what installs it.

    "" where it has everything, where there is no server, and where its environment
    cannot be found; on Linux alone it can.
    """
    server = _server_prefix(environ.get("JPY_PARENT_PID", ""))
    if "JPY_SESSION_NAME" not in environ or server is None:
        return ""
    shared = [server / "share" / "jupyter", *_shared_folders()]
    missing = [
        package
        for package, folder in BROWSER_HALVES.items()
        if not any((each / "labextensions" / folder).is_dir() for each in shared)
    ]
    if not missing:
        return ""
    command = f"{server / 'bin' / 'python'} -m pip install {' '.join(missing)}"
    return (
        f"the Jupyter server lacks {' and '.join(missing)}, so forms and jobs are not "
        f"shown. Run {command}, restart the server and reload the page."
    )


def _server_prefix(pid: str) -> Path | None:
    """Return the environment of the server's Python."""
    try:
        command = Path("/proc", pid, "cmdline").read_text("utf-8").split("\0")
    except OSError:
        return None
    python = Path(command[0])
    is_known = python.is_absolute() and python.name.startswith("python")
    return python.parent.parent if is_known else None


def _shared_folders() -> list[Path]:
    """Return where extensions are for all environments of this machine and user."""
    from jupyter_core.paths import SYSTEM_JUPYTER_PATH, jupyter_data_dir

    return [*map(Path, SYSTEM_JUPYTER_PATH), Path(jupyter_data_dir())]


def install_line(extra: str) -> str:
    """Return the line that installs an extra here."""
    command = f'pip install "mediakit[{extra}]"'
    if in_notebook():
        return f"%{command} (then restart the kernel)"
    return f"python -m {command}"
