"""Variables of the environment that name certificates which cannot be used."""

from __future__ import annotations

from pathlib import Path

import pytest

import mediakit as mk
from mediakit.sandbox.server.running import RunningSandbox
from tests.support.advancing_clock import AdvancingClock

KEY = "key-0123456789abcdef"


def unusable(folder: Path, what: str) -> str:
    """Return the path of a file that is gone, empty, a folder or no certificate."""
    place = folder / f"{what}.pem"
    if what == "folder":
        place.mkdir()
    elif what != "gone":
        place.write_text("" if what == "empty" else "no certificate")
    return str(place)


@pytest.mark.parametrize("what", ["gone", "empty", "folder", "text"])
def test_an_unusable_certificate_is_named_at_once_and_only_where_it_is_needed(
    sandbox: RunningSandbox,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    what: str,
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", unusable(tmp_path, what))
    with mk.Client(sandbox.base_url, sandbox.api_key, home=tmp_path) as client:
        job = client.run("text-to-image", prompt="a kite")
        assert job.download(tmp_path).exists()

    clock = AdvancingClock()
    with mk.Client(
        "https://media.example",
        KEY,
        home=tmp_path,
        clock=clock,
        catalog=mk.Catalog.default(),
    ) as client:
        with pytest.raises(mk.ServiceError, match="SSL_CERT_FILE=") as caught:
            client.submit("text-to-image", prompt="a boat")
        assert caught.value.sent is False
        assert client.reserved_micro_usd() == 0
    assert clock.slept_s == []
