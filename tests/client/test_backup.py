"""A backup of the history, and a history that is damaged."""

from __future__ import annotations

import stat
import sys
from pathlib import Path

import pytest

from mediakit import Client
from mediakit.errors import InputError, MediakitError
from mediakit.sandbox.server.running import RunningSandbox


def clips(client: Client, count: int) -> list[str]:
    return [
        client.submit("text-to-video", prompt=f"kite {n}", duration=3).id
        for n in range(count)
    ]


def test_a_backup_holds_all_entries_and_opens_as_a_history(
    client: Client, sandbox: RunningSandbox, tmp_path: Path
) -> None:
    made = clips(client, 3)
    target = client.history.backup(tmp_path / "backup.sqlite3")

    assert target == tmp_path / "backup.sqlite3"
    assert [each.name for each in tmp_path.glob("*backup*")] == [target.name]
    if sys.platform != "win32":
        assert stat.S_IMODE(target.stat().st_mode) == 0o600
    with Client(sandbox.base_url, sandbox.api_key, history=target) as restored:
        assert sorted(restored.history.frame()["job_id"]) == sorted(made)
        assert clips(restored, 3) == made
        assert len(restored.history.frame()) == 3


def test_a_backup_never_replaces_a_file(client: Client, tmp_path: Path) -> None:
    client.history.backup(tmp_path / "backup.sqlite3")
    before = (tmp_path / "backup.sqlite3").read_bytes()
    clips(client, 1)

    with pytest.raises(InputError, match="a new file in a folder"):
        client.history.backup(tmp_path / "backup.sqlite3")
    assert (tmp_path / "backup.sqlite3").read_bytes() == before
    with pytest.raises(InputError, match="a new file in a folder"):
        client.history.backup(tmp_path / "missing" / "backup.sqlite3")


def test_a_damaged_history_names_what_recovers_its_jobs(
    sandbox: RunningSandbox, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    with Client(sandbox.base_url, sandbox.api_key, home=home) as client:
        clips(client, 3)
        target = client.history.backup(tmp_path / "backup.sqlite3")
    content = bytearray(target.read_bytes())
    # The header and the schema stay whole; every other page is not.
    content[8_192:] = b"\xff" * len(content[8_192:])
    target.write_bytes(content)

    with (
        pytest.raises(MediakitError, match=r"history\.rebuild\(") as caught,
        Client(sandbox.base_url, sandbox.api_key, history=target) as damaged,
    ):
        damaged.history.frame()
    assert "-wal" in str(caught.value)
