"""A service on this machine is the same under every name of the loopback interface."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import mediakit as mk
from mediakit.client.service import normal_url
from mediakit.sandbox.server.running import RunningSandbox
from tests.support.samples.media_samples import make_png

CLIP: dict[str, Any] = {"prompt": "a kite", "duration": 3}
NAMES = ["127.0.0.1", "localhost", "LOCALHOST", "127.1", "127.0.1", "localhost."]


def renamed(sandbox: RunningSandbox, name: str) -> str:
    return sandbox.base_url.replace("127.0.0.1", name)


def opened(sandbox: RunningSandbox, name: str, home: Path, **how: Any) -> mk.Client:
    return mk.Client(renamed(sandbox, name), sandbox.api_key, home=home, **how)


def jobs_of(home: Path) -> set[str]:
    with closing(sqlite3.connect(home / "history.sqlite3")) as db:
        rows = db.execute("select service from mediakit_entries")
        return {service for (service,) in rows}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("first", ["127.0.0.1", "localhost"])
def test_a_request_is_paid_once_under_any_loopback_name(
    sandbox: RunningSandbox, tmp_path: Path, first: str, name: str
) -> None:
    with opened(sandbox, first, tmp_path) as client:
        job = client.run("text-to-video", **CLIP).settle()
        left = client.balance().spendable_micro_usd
    with opened(sandbox, name, tmp_path) as client:
        again = client.submit("text-to-video", **CLIP)
        assert again.id == job.id
        assert client.sweep("text-to-video", **CLIP).estimate().high == 0
        assert client.balance().spendable_micro_usd == left
        charges = client.spend.charges()
        assert charges.job_id.tolist() == [job.id]


@pytest.mark.parametrize("stored", ["localhost", "[::1]"])
def test_jobs_stored_under_another_loopback_name_are_found(
    sandbox: RunningSandbox,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    stored: str,
) -> None:
    # As written by versions in which each name was a separate service.
    old_name = renamed(sandbox, stored)
    cat = make_png(tmp_path / "cat.png")
    with monkeypatch.context() as patch:
        patch.setattr(
            "mediakit.client.service.loopback_spellings",
            lambda url: (old_name, url),
        )
        with opened(sandbox, "localhost", tmp_path) as client:
            job = client.run("text-to-image", prompt="a kite").settle()
            upscaled = client.run("image-upscale", image_url=cat)
    assert jobs_of(tmp_path) == {old_name}

    for name in ("127.0.0.1", "localhost"):
        with opened(sandbox, name, tmp_path) as client:
            assert client.submit("text-to-image", prompt="a kite").id == job.id
            assert client.submit("image-upscale", image_url=cat).id == upscaled.id
            assert len(client.history.frame()) == 2


def test_jobs_under_two_names_are_both_found(
    sandbox: RunningSandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = {}
    for name in ("localhost", "127.0.0.1"):
        with monkeypatch.context() as patch:
            patch.setattr(
                "mediakit.client.service.loopback_spellings",
                lambda url: (url, url),
            )
            patch.setattr("mediakit.history.History.services", lambda *_: [])
            with opened(sandbox, name, tmp_path) as client:
                job = client.run("text-to-image", prompt=f"a kite at {name}")
                ids[f"a kite at {name}"] = job.settle().id
    assert len(jobs_of(tmp_path)) == 2
    for name in ("localhost", "127.0.0.1"):
        with opened(sandbox, name, tmp_path) as client:
            for prompt, job_id in ids.items():
                assert client.submit("text-to-image", prompt=prompt).id == job_id


@pytest.mark.parametrize(
    ("url", "plain"),
    [
        ("http://127.1:8000/", "http://127.0.0.1:8000"),
        ("http://LocalHost:80", "http://localhost"),
        ("http://[0:0:0:0:0:0:0:1]:8000", "http://[::1]:8000"),
        ("http://0.0.0.0:8000", "http://127.0.0.1:8000"),
        ("http://[::]:8000", "http://[::1]:8000"),
        ("http://127.0.0.2:8000", "http://127.0.0.2:8000"),
        ("http://127.example.com", "http://127.example.com"),
        ("http://10.0.0.1:8000", "http://10.0.0.1:8000"),
    ],
)
def test_a_loopback_address_is_written_in_one_way(url: str, plain: str) -> None:
    assert normal_url(url) == plain
