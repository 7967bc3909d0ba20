"""`python -m mediakit.voila` without a browser: what it serves, and what it lacks."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from mediakit.voila import main


def test_its_pages_ask_for_a_token_and_are_gone_with_the_server(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    served: list[Path] = []

    def serve(arguments: list[str]) -> None:
        folder, *options = arguments
        assert options == ["--token", "--port=9000"]
        served.extend(sorted(Path(folder).iterdir()))

    monkeypatch.setitem(sys.modules, "voila.app", SimpleNamespace(main=serve))
    main(["--port=9000"])

    assert [path.name for path in served] == ["dashboard.ipynb", "studio.ipynb"]
    assert not any(path.exists() for path in served)
