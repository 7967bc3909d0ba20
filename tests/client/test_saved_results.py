"""Saved results: their names, permissions and sidecars."""

from __future__ import annotations

import asyncio
import json
import os
import stat
from collections.abc import Coroutine
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import mediakit as mk
from mediakit import Client
from mediakit.client.posters import AGAIN_AFTER_S, Posters, PreviewCache
from mediakit.history.titles import title_of
from mediakit.sandbox.server.running import RunningSandbox
from tests.support.job_states import state_of
from tests.support.samples.media_samples import make_picture, make_png
from tests.support.servers.file_server import FileServer
from tests.support.servers.job_server import SETTLED, JobServer
from tests.support.servers.loopback import Said
from tests.support.virtual_clock import VirtualClock

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


def test_a_sidecar_is_for_its_owner_and_holds_no_signature_and_no_webhook_url(
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
        hook = "http://127.0.0.1:9/hook?token=hook-secret"
        fields: dict[str, Any] = {"image_url": signed, "upscale_factor": "x2"}
        fields["webhook_url"] = hook
        job = client.submit("image-upscale", **fields)
        job.wait().settle().download(results)

        [sidecar] = results.glob("*.json")
        text = sidecar.read_text("utf-8")
        said = json.loads(text)
        assert not any(secret in text for secret in (SIGNATURE, "hook-secret"))
        assert stat.S_IMODE(sidecar.stat().st_mode) == 0o600
        assert said["body"]["image_url"] == f"{files.url('cat.png')}?…"
        with Client(
            sandbox.base_url, sandbox.api_key, home=tmp_path / "second"
        ) as other:
            rebuilt = other.history.rebuild(folders=results, deliveries=False)
            assert rebuilt["outcome"].tolist() == ["added"]
            assert other.history.settled_total_micro_usd() == job.charge_micro_usd
            # The body is not known, but the key of the same call is: the service
            # returns the same job.
            again = other.submit("image-upscale", **fields)
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
            results = plan.run(budget="$1").wait()
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
    job = client.run("image-upscale", image_url=str(picture))
    job.core.preview_cache.keep(job.id, ".json", b"{}")
    job.erase()
    assert job.core.preview_cache.read(job.id, ".json") is None


# -- titles ----------------------------------------------------------------------------


BOAT, OTHER, ELSEWHERE = (
    "https://a.test/outputs/TrfuY3MkAZL44etEn2Xtan",
    "https://a.test/outputs/Qx1",
    "https://b.test/f/walk.mp4?sig=1",
)
NAMES = {BOAT: "a paper boat at dawn", OTHER: "a kite"}
COMPOSED = {
    "tracks": [
        {"type": "video", "keyframes": [{"url": BOAT}, {"url": OTHER}]},
        {"type": "audio", "keyframes": [{"url": ELSEWHERE}]},
    ]
}


@pytest.mark.parametrize(
    ("kind", "known", "title"),
    [
        ("text-to-video", {"prompt": "a red\n  kite"}, "a red kite"),
        ("text-to-video", {"prompt": "a kite", "take": 3}, "a kite · take 3"),
        (
            "video-upscale",
            {"body": {"video_url": BOAT}},
            "Upscaled: a paper boat at dawn",
        ),
        (
            "video-upscale",
            {"body": {"video_url": BOAT}, "take": 2},
            "Upscaled: a paper boat at dawn · take 2",
        ),
        ("image-upscale", {"body": {"image_url": ELSEWHERE}}, "Upscaled: walk.mp4"),
        ("image-upscale", {"body": {"image_url": f"{BOAT}x"}}, "Image upscale"),
        ("image-upscale", {"body": {}}, "Image upscale"),
        (
            "keyframes",
            {"body": {"images": [BOAT, OTHER]}},
            "Transition: a paper boat at dawn, a kite",
        ),
        (
            "compose-video",
            {"body": COMPOSED},
            "Composition: a paper boat at dawn and 2 more",
        ),
        ("restyle", {"body": {"video": OTHER}}, "Restyle: a kite"),
    ],
)
def test_a_job_is_titled_by_its_prompt_or_what_it_was_made_from(
    kind: str, known: dict[str, object], title: str
) -> None:
    known = {"prompt": None, **known}
    entry = state_of("completed", kind=kind, function=f"a/b/{kind}", **known).entry

    assert title_of(entry, NAMES) == title


def test_a_result_made_from_a_result_is_titled_by_it_and_so_is_its_file(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    boat = client.run("text-to-image", prompt="a paper boat at dawn")
    large = client.run("image-upscale", image_url=boat)
    again = client.run("image-upscale", image_url=boat, take=2)
    path = large.download()

    assert path.name.startswith("upscaled-a-paper-boat-at-dawn-")
    assert large.state.title == "Upscaled: a paper boat at dawn"
    assert again.state.title == "Upscaled: a paper boat at dawn · take 2"
    other_boat = client.run("text-to-image", prompt="a paper boat at dawn", take=2)
    other_large = client.run("image-upscale", image_url=other_boat)
    assert "dawn-take-2" in other_large.download().name
    assert other_large.state.title == "Upscaled: a paper boat at dawn (take 2)"
    with mk.connect(
        client.service.base_url, client.service.api_key, home=tmp_path / "another"
    ) as other:
        assert other.job(large.id).download(tmp_path / "same.png").is_file()


# -- posters ---------------------------------------------------------------------------


URL = "https://media.test/a.mp4"


class Media:
    """Makes a poster of any file; fails while `fails` is set."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.fails = False

    async def poster(self, url: str, max_px: int) -> bytes | None:
        self.asked.append(url)
        await asyncio.sleep(0)
        out = BytesIO()
        make_picture((320, 180), "teal").save(out, "JPEG")
        return None if self.fails else out.getvalue()


def posters_in(folder: Path, media: Any, clock: VirtualClock | None = None) -> Posters:
    return Posters(media, PreviewCache(folder), clock or VirtualClock())


def with_runner(test: Coroutine[Any, Any, None]) -> None:
    with asyncio.Runner() as runner:
        runner.run(test)


def width_px(jpeg: bytes | None) -> int:
    return Image.open(BytesIO(jpeg or b"")).width


def test_a_picture_is_made_once_for_all_sizes_and_after_a_restart(
    tmp_path: Path,
) -> None:
    with_runner(made_once(tmp_path))


async def made_once(tmp_path: Path) -> None:
    media = Media()
    posters = posters_in(tmp_path, media)

    wall, row = await asyncio.gather(
        posters.find("media_1", URL, 240), posters.find("media_1", URL, 240)
    )
    assert wall == row == posters.known("media_1", 240)
    assert width_px(wall) == 240
    assert width_px(await posters.find("media_1", URL, 144)) == 144
    later = posters_in(tmp_path, media)
    assert later.known("media_1", 144) is None
    assert width_px(await later.find("media_1", URL, 144)) == 144

    assert media.asked == [URL]


def test_a_failed_poster_is_tried_again_after_a_while(tmp_path: Path) -> None:
    with_runner(tried_again(tmp_path))


async def tried_again(tmp_path: Path) -> None:
    media, clock = Media(), VirtualClock()
    media.fails = True
    posters = posters_in(tmp_path, media, clock)

    for _ in range(2):
        assert await posters.find("media_1", URL, 240) is None
    assert media.asked == [URL]
    media.fails = False
    await clock.advance(AGAIN_AFTER_S)
    assert width_px(await posters.find("media_1", URL, 240)) == 240


def test_an_unreadable_result_has_no_poster(client: Client) -> None:
    balance = f"{client.service.base_url}/v1/balance"

    for url in (balance, "http://127.0.0.1:9/a.mp4", "nonsense", "http://[/a.mp4"):
        assert client.io.call(client.components.posters.find, url, url, 144) is None
