"""Environment variables that name unusable TLS files."""

from __future__ import annotations

from pathlib import Path

import pytest

import mediakit as mk
from mediakit.sandbox.server.running import RunningSandbox
from tests.support.advancing_clock import AdvancingClock

KEY = "key-0123456789abcdef"


def unusable(folder: Path, what: str) -> str:
    """Return a path that is missing, empty, a folder or not a certificate."""
    place = folder / f"{what}.pem"
    if what == "folder":
        place.mkdir()
    elif not what.endswith("gone"):
        place.write_text("" if what == "empty" else "no certificate")
    return str(place)


@pytest.mark.parametrize(
    ("variable", "what"),
    [
        ("SSL_CERT_FILE", "gone"),
        ("SSL_CERT_FILE", "empty"),
        ("SSL_CERT_FILE", "folder"),
        ("SSL_CERT_FILE", "text"),
        ("SSLKEYLOGFILE", "folder"),
        ("SSLKEYLOGFILE", "no folder/gone"),
    ],
)
def test_an_unusable_tls_file_is_named_at_once_but_only_if_needed(
    sandbox: RunningSandbox,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    variable: str,
    what: str,
) -> None:
    monkeypatch.setenv(variable, unusable(tmp_path, what))
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
        with pytest.raises(mk.ServiceError, match=f"{variable}=") as caught:
            client.submit("text-to-image", prompt="a boat")
        assert caught.value.sent is False
        assert client.reserved_micro_usd() == 0
    assert clock.slept_s == []
