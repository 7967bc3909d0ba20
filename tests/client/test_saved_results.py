"""Saved results: their names, permissions and sidecars."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from mediakit import Client
from mediakit.client.posters import PreviewCache
from mediakit.sandbox.server.running import RunningSandbox
from tests.support.samples.media_samples import make_png
from tests.support.servers.file_server import FileServer
from tests.support.servers.job_server import SETTLED, JobServer
from tests.support.servers.loopback import Said

PATIENCE_S = 60.0
CLIP = b"<script>alert(1)</script>"
SIGNATURE = "c2lnbmF0dXJl"


def made(job_id: str, url: str, content_type: str | None) -> Said:
    """Return the response about a completed clip at a URL."""
    output = {"media_type": "video", "video": {"url": url}}
    if content_type is not None:
        output["video"]["content_type"] = content_type  # type: ignore[index]
    record = {"id": job_id, "status": "completed", "output": output}
    return Said({**record, "billing": SETTLED})


def name_of_download(
    folder: Path, name: str, content_type: str | None, job_id: str
) -> str:
    headers = {"Content-Type": content_type or "application/octet-stream"}
    with (
        FileServer({name: CLIP}, headers=headers) as files,
        JobServer(lambda *_: made(job_id, files.url(name), content_type)) as server,
        Client(server.base_url, "key-1234567890", home=folder / "home") as client,
    ):
        place = client.job(job_id).download(folder)
        assert Path(place).parent == folder
        return Path(place).name


@pytest.mark.parametrize(
    ("name", "content_type", "suffix"),
    [
        ("a.html", "video/mp4", ".mp4"),
        ("a.html", None, ".mp4"),
        ("a.svg", "image/svg+xml", ".mp4"),
        ("a.mp4", "video/quicktime", ".mov"),
        ("a.webm", "application/octet-stream", ".webm"),
        ("a", "video/mp4; codecs=avc1", ".mp4"),
    ],
)
def test_a_result_has_a_plain_name_and_the_suffix_of_its_medium(
    tmp_path: Path, name: str, content_type: str | None, suffix: str
) -> None:
    saved = name_of_download(tmp_path, name, content_type, 'media_"<b>|:*?')
    assert Path(saved).suffix == suffix
    assert not set(saved) & set('"<>|:*?/\\')


def beside(folder: Path) -> tuple[str, dict[str, Any]]:
    [sidecar] = folder.glob("*.json")
    text = sidecar.read_text("utf-8")
    return text, json.loads(text)


def test_a_sidecar_holds_no_password_and_no_signature(
    sandbox: RunningSandbox, tmp_path: Path
) -> None:
    results = tmp_path / "results"
    results.mkdir()
    png = make_png(tmp_path / "cat.png", (64, 48)).read_bytes()
    with (
        FileServer({"cat.png": png, f"cat.png?X-Sig={SIGNATURE}": png}) as files,
        Client(sandbox.base_url, sandbox.api_key, home=tmp_path / "first") as client,
    ):
        signed = f"{files.url('cat.png')}?X-Sig={SIGNATURE}"
        job = client.submit("image-upscale", image_url=signed, upscale_factor="x2")
        job.wait(PATIENCE_S).settle(PATIENCE_S).download(results)

        text, said = beside(results)
        assert SIGNATURE not in text
        assert said["body"]["image_url"] == f"{files.url('cat.png')}?…"
        with Client(
            sandbox.base_url, sandbox.api_key, home=tmp_path / "second"
        ) as other:
            rebuilt = other.history.rebuild(folders=results, deliveries=False)
            assert rebuilt["outcome"].tolist() == ["added"]
            assert other.history.settled_total_micro_usd() == job.charge_micro_usd
            # The body is not known, but the key of the same call is: the service
            # returns the same job.
            again = other.submit("image-upscale", image_url=signed, upscale_factor="x2")
            assert again.id == job.id


def test_files_in_mediakits_home_can_only_be_read_by_the_user(
    sandbox: RunningSandbox, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    # An existing home keeps its permissions, so its files must be private themselves.
    home.mkdir()
    home.chmod(0o755)
    umask = os.umask(0o022)
    try:
        with Client(sandbox.base_url, sandbox.api_key, home=home) as client:
            plan = client.sweep("text-to-video", prompt=["a kite"], duration=3)
            results = plan.run(budget="$1").wait(PATIENCE_S)
            results.score(lambda path: {"bytes": float(path.stat().st_size)})
    finally:
        os.umask(umask)

    kept = sorted(home.rglob("*"))
    assert {"outputs", "history.sqlite3"} <= {path.name for path in kept}
    open_to_others = [
        path for path in kept if stat.S_IMODE(path.stat().st_mode) & 0o077
    ]
    assert open_to_others == []


# -- posters of results, beside the history -------------------------------------------


def test_an_untrusted_id_becomes_no_path_and_only_the_user_can_read_its_file(
    tmp_path: Path,
) -> None:
    preview_cache = PreviewCache(tmp_path / "home" / "looks")
    preview_cache.keep("../../up/*", ".mp4", b"one")
    (path,) = tmp_path.rglob("*.mp4")
    assert path.parent == tmp_path / "home" / "looks"
    assert preview_cache.read("../../up/*", ".mp4") == b"one"
    private = (tmp_path / "home", path.parent, path)
    assert not any(each.stat().st_mode & 0o077 for each in private)


def test_the_least_recently_used_files_are_evicted_completely(tmp_path: Path) -> None:
    preview_cache = PreviewCache(tmp_path, max_bytes=250)
    for name in ("a", "b"):
        preview_cache.keep(name, ".mp4", bytes(100))
    for at_s, path in enumerate(tmp_path.iterdir()):
        os.utime(path, (at_s, at_s))
    preview_cache.read("a", ".mp4")
    preview_cache.keep("c", ".mp4", bytes(100))
    kept = [name for name in "abc" if preview_cache.read(name, ".mp4") is not None]
    assert kept == ["a", "c"]
    assert not list(tmp_path.glob("*.part"))


def test_the_cached_files_of_an_erased_job_are_removed(
    client: Client, tmp_path: Path
) -> None:
    picture = make_png(tmp_path / "in.png", (96, 64))
    job = client.run("image-upscale", image_url=str(picture), timeout_s=60)
    job.core.preview_cache.keep(job.id, ".json", b"{}")
    job.erase()
    assert job.core.preview_cache.read(job.id, ".json") is None
