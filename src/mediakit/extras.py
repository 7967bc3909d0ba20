"""The optional packages: the modules of each extra, and their install command."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec

from mediakit.notebook import in_notebook

DISTRIBUTION = "jupyter-mediakit"
"""The name on the package index, where `mediakit` is another project."""

EXTRAS: Mapping[str, tuple[str, ...]] = {
    "dask": ("distributed",),
    "excel": ("openpyxl",),
    "mlflow": ("mlflow",),
    "parquet": ("pyarrow",),
    "remote": ("fsspec",),
    "sandbox": ("httptools", "starlette", "uvicorn"),
    "socks": ("socksio",),
    "team": ("psycopg",),
    "voila": ("ipykernel", "voila"),
    "wandb": ("wandb",),
}
"""The modules that each extra installs."""

# Psycopg without a build of its own needs PostgreSQL's library on the machine; all of
# MLflow includes a server.
_REQUIREMENTS = {"mlflow": "mlflow-skinny", "psycopg": '"psycopg[binary]"'}


def missing_modules(extra: str) -> list[str]:
    """Return the modules of an extra that are not installed."""
    return [name for name in EXTRAS[extra] if find_spec(name) is None]


def install_command(extra: str) -> str:
    """Return the command that installs the missing packages of an extra.

    It names these packages and not mediakit, which an index may lack, or have as
    another project.
    """
    modules = missing_modules(extra) or EXTRAS[extra]
    packages = " ".join(_REQUIREMENTS.get(name, name) for name in modules)
    if in_notebook():
        return f"%pip install {packages} (then restart the kernel)"
    return f"python -m pip install {packages}"
