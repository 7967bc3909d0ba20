"""How long, and up to what size, outputs and uploads are kept."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.sandbox.conftest import Api, StartSandbox, png, without_key
from tests.support.waiting import until

KIND = "image-upscale"
GB = 10**9
NOTHING_GB = 1 / GB


def status_at(url: str) -> int:
    return without_key("GET", url).status_code


def files_of(api: Api) -> list[Path]:
    return sorted((api.running.data_dir / "files").iterdir())


def upscaled(api: Api, url: str) -> dict[str, Any]:
    return api.ended(api.submit(KIND, {"image_url": url})["id"])


def test_a_removed_output_looks_like_an_erased_one(
    sandboxes: StartSandbox,
) -> None:
    api = sandboxes(keep_gb=NOTHING_GB, settle_after_s=0)
    picture = api.upload("image/png", png())
    job = upscaled(api, picture)
    output = job["output"]["image"]["url"]
    billing = api.settled(job["id"])["billing"]

    api.running.advance(minutes=2)

    until(lambda: files_of(api) == [])
    assert [status_at(url) for url in (picture, output)] == [410, 410]
    old = api.job(job["id"])
    assert "deleted_at" in old
    assert "output" not in old
    assert (old["status"], old["billing"]) == ("completed", billing)
    assert api.http.get(f"/v1/media/jobs/{job['id']}/content").status_code == 410
    late = upscaled(api, picture)
    assert late["error"]["code"] == "invalid_input"
    assert "removed" in late["error"]["message"]


def test_only_the_oldest_files_are_removed_above_the_size_limit(
    sandboxes: StartSandbox,
) -> None:
    api = sandboxes(keep_gb=175_000 / GB)
    urls = [api.upload("video/mp4", bytes(50_000)) for _ in range(6)]

    api.running.advance(minutes=2)

    until(lambda: len(files_of(api)) == 3)
    assert [status_at(url) for url in urls] == [410] * 3 + [200] * 3


def test_files_that_a_job_still_needs_are_kept(
    tmp_path: Path, sandboxes: StartSandbox
) -> None:
    first = sandboxes(tmp_path, keep_gb=NOTHING_GB)
    needed, other = (first.upload("image/png", png()) for _ in range(2))
    previous = upscaled(first, needed)["output"]["image"]["url"]
    first.running.fault("stuck_queue")
    waiting = [first.submit(KIND, {"image_url": url}) for url in (needed, previous)]

    first.running.advance(minutes=2)

    until(lambda: status_at(other) == 410)
    assert [status_at(url) for url in (needed, previous)] == [200, 200]
    first.running.clear_faults()
    for job in waiting:
        assert first.ended(job["id"])["status"] == "completed"
    first.running.advance(minutes=2)
    until(lambda: [status_at(url) for url in (needed, previous)] == [410, 410])


def test_a_restart_removes_what_a_killed_server_left_of_a_removal(
    tmp_path: Path, sandboxes: StartSandbox
) -> None:
    first = sandboxes(tmp_path)
    url = first.upload("image/png", png())
    first.running.stop()
    # Killed in between: the row says that it is gone, and the file is there.
    with closing(sqlite3.connect(tmp_path / "sandbox.sqlite3")) as db, db:
        db.execute("UPDATE upload SET stored_us = NULL")

    later = sandboxes(tmp_path)

    assert files_of(later) == []
    assert status_at(url.replace(first.running.base_url, later.running.base_url)) in (
        404,
        410,
    )
