"""`python -m mediakit.voila`: serve the studio and the spend dashboard as pages.

The pages exist only while the server runs, so nothing is left in your folder. They
require the token that Voilà prints, because visitors spend your balance.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

from mediakit.extras import install_command

PAGES = {"studio": "client.studio()", "dashboard": "client.spend.dashboard()"}
# The kernel starts beside its page, and mediakit.toml and downloads are elsewhere.
CELL = """import os
import mediakit
os.chdir({folder!r})
client = mediakit.connect()
{page}"""


def write_pages(pages: Path, folder: Path) -> None:
    """Write a notebook for each page."""
    for name, page in PAGES.items():
        cell: dict[str, object] = {
            "cell_type": "code",
            "id": name,
            "source": CELL.format(folder=str(folder), page=page),
            "metadata": {},
            "outputs": [],
            "execution_count": None,
        }
        kernel = {"name": "python3", "display_name": "Python 3"}
        notebook = {
            "nbformat": 4,
            "nbformat_minor": 5,
            "metadata": {"kernelspec": kernel},
            "cells": [cell],
        }
        text = json.dumps(notebook)
        (pages / f"{name}.ipynb").write_text(text, "utf-8")


def main(arguments: Sequence[str]) -> None:
    """Serve the pages until the server is stopped.

    Args:
        arguments: Options for Voilà, such as `--no-browser` or `--port=9000`.
    """
    try:
        voila = import_module("voila.app")
    except ModuleNotFoundError:
        sys.exit(f"Voilà is not installed. Install it: {install_command('voila')}")
    with TemporaryDirectory(prefix="mediakit-pages-") as pages:
        write_pages(Path(pages), Path.cwd())
        voila.main([pages, "--token", *arguments])


if __name__ == "__main__":
    main(sys.argv[1:])
