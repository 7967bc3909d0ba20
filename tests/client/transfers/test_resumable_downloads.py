"""Downloads: whole under their name or not at all, and resumed."""

from __future__ import annotations

import asyncio
import errno
import json
import logging
import os
import random
import signal
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

import fsspec  # type: ignore[import-untyped]
import httpx
import pytest
import trustme
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mediakit import Client, Job
from mediakit.client.http.exchange import NoAnswerError
from mediakit.client.http.http_client import HttpClient
from mediakit.client.loop import io_thread
from mediakit.client.progress import Transfer
from mediakit.client.transfers.atomic_files import PartialFile
from mediakit.client.transfers.destinations import LocalDestination, held
from mediakit.client.transfers.resumable_downloads import Downloader, Tell
from mediakit.clock import Clock
from mediakit.errors import GoneError, InputError, ServiceError
from mediakit.sandbox.server.running import RunningSandbox
from tests.support.advancing_clock import AdvancingClock
from tests.support.samples.media_samples import make_png
from tests.support.servers.proxies import HTTPProxy
from tests.support.servers.scripted_server import ScriptedServer, answers_always, page
from tests.support.servers.storage import SIGNATURE, Storage

PATIENCE_S = 60.0
FILE = random.Random(1).randbytes(1_500_000)
OTHER = random.Random(2).randbytes(1_400_000)
PATH = "/files/a.mp4"


def quiet(_: int, __: int | None) -> None:
    return


async def fetched(
    url: str, part: PartialFile, clock: Clock, tell: Tell = quiet
) -> None:
    http = HttpClient(timeout_s=5)
    try:
        await Downloader(http, clock).fetch(url, part, tell)
    finally:
        await http.aclose()


def fetch(storage: Storage, part: PartialFile, path: str = PATH) -> None:
    """Fetch a file into a part, however quickly tries follow each other."""
    io_thread().call(fetched, storage.base_url + path, part, AdvancingClock())


def saved(storage: Storage, target: Path) -> bytes:
    """Fetch a file to its place."""
    part = PartialFile(target)
    try:
        fetch(storage, part)
        part.publish(overwrite=True)
    finally:
        part.close()
    return target.read_bytes()


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def ranges(storage: Storage) -> list[str | None]:
    return [headers.get("Range") for headers in storage.headers_of("GET")]


# -- one transfer -----------------------------------------------------------------


@pytest.mark.parametrize("validator", ["etag", "date"])
def test_a_broken_connection_is_resumed_where_it_broke(
    tmp_path: Path, validator: str
) -> None:
    with Storage({PATH: FILE}, validator=validator) as storage:
        storage.gets = [700_000, 300_000]
        assert saved(storage, tmp_path / "a.mp4") == FILE

    assert ranges(storage) == [None, "bytes=700000-", "bytes=1000000-"]
    assert all("If-Range" in h for h in storage.headers_of("GET")[1:])
    assert storage.given_bytes == len(FILE)
    assert names(tmp_path) == ["a.mp4"]


def test_connections_may_break_often_as_long_as_each_gets_further(
    tmp_path: Path,
) -> None:
    with Storage({PATH: FILE}) as storage:
        storage.gets = [100_000] * 12
        assert saved(storage, tmp_path / "a.mp4") == FILE
    assert storage.given_bytes == len(FILE)


def test_what_could_not_be_fetched_whole_leaves_nothing(tmp_path: Path) -> None:
    with Storage({PATH: FILE}) as storage:
        storage.gets = [900_000, 0, 0, 0, 0]
        with pytest.raises(ServiceError, match="fetched completely") as caught:
            saved(storage, tmp_path / "a.mp4")
        assert names(tmp_path) == []
        assert "the same call fetches it again" in str(caught.value)

        assert saved(storage, tmp_path / "a.mp4") == FILE
    assert names(tmp_path) == ["a.mp4"]


def test_a_file_that_changed_meanwhile_starts_over(tmp_path: Path) -> None:
    with Storage({PATH: FILE}) as storage:
        storage.gets = [900_000]
        storage.changes = [None, OTHER]
        assert saved(storage, tmp_path / "a.mp4") == OTHER


@pytest.mark.parametrize(
    "options", [{"ranges": False}, {"validator": "none"}, {"validator": "weak"}]
)
def test_a_server_that_cannot_resume_starts_over(
    tmp_path: Path, options: dict[str, Any]
) -> None:
    with Storage({PATH: FILE}, **options) as storage:
        storage.gets = [900_000, 200_000]
        assert saved(storage, tmp_path / "a.mp4") == FILE
    assert storage.given_bytes == len(FILE) + 1_100_000


def test_tries_that_get_no_further_end(tmp_path: Path) -> None:
    with Storage({PATH: FILE}, validator="none") as storage:
        storage.gets = [900_000] * 9
        with pytest.raises(ServiceError):
            saved(storage, tmp_path / "a.mp4")
    assert len(ranges(storage)) == 5  # the first got somewhere, four did no more
    assert names(tmp_path) == []


def test_trouble_that_may_pass_is_waited_for(tmp_path: Path) -> None:
    clock = AdvancingClock()
    with Storage({PATH: FILE}) as storage:
        storage.gets = [-503, -429, -500]
        part = PartialFile(tmp_path / "a.mp4")
        io_thread().call(fetched, storage.base_url + PATH, part, clock)
        part.publish(overwrite=False)
    assert len(clock.slept_s) == 3


def test_what_is_gone_or_refused_is_said_at_once(tmp_path: Path) -> None:
    with Storage({PATH: FILE}) as storage:
        storage.gets = [-403]
        with closing(PartialFile(tmp_path / "a.mp4")) as part:
            with pytest.raises(ServiceError, match="403"):
                fetch(storage, part)
            with pytest.raises(GoneError):
                fetch(storage, part, "/files/b")
    assert len(storage.asked) == 2


class _Contents:
    """A place that a property writes to again and again."""

    def __init__(self, folder: Path) -> None:
        self.target = folder / "a.mp4"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> _Contents:
    return _Contents(tmp_path_factory.mktemp("property"))


STEPS = st.lists(
    st.tuples(st.integers(0, 3_000), st.booleans()), min_size=1, max_size=12
)


@given(steps=STEPS, validator=st.sampled_from(["etag", "date", "weak", "none"]))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_breaks_and_changes_the_file_is_one_version_whole(
    place: _Contents, steps: list[tuple[int, bool]], validator: str
) -> None:
    versions = [bytes([n]) * (1_000 + 7 * n) for n in range(len(steps) + 1)]
    with Storage({PATH: versions[0]}, validator=validator) as storage:
        storage.gets = [cut for cut, _ in steps]
        storage.changes = [
            versions[n] if changes else None for n, (_, changes) in enumerate(steps)
        ]
        try:
            content = saved(storage, place.target)
        except ServiceError:
            assert len(steps) > 4  # this many in a row made no progress
        else:
            assert content in versions
        place.target.unlink(missing_ok=True)


# -- several at once --------------------------------------------------------------


def test_two_that_save_to_the_same_name_do_not_meet(tmp_path: Path) -> None:
    target = tmp_path / "a.mp4"
    with Storage({PATH: FILE, "/files/b": OTHER}) as storage:
        first, second = PartialFile(target), PartialFile(target)
        fetch(storage, second, "/files/b")
        fetch(storage, first)
        second.publish(overwrite=False)
        with pytest.raises(FileExistsError):
            first.publish(overwrite=False)
        assert target.read_bytes() == OTHER
        first.publish(overwrite=True)
        assert target.read_bytes() == FILE
    assert names(tmp_path) == ["a.mp4"]


SAVE = """
import sys
from pathlib import Path
from mediakit.client.transfers.resumable_downloads import Downloader
from mediakit.client.http.http_client import HttpClient
from mediakit.client.loop import io_thread
from mediakit.client.transfers.atomic_files import PartialFile
from mediakit.clock import SystemClock
part = PartialFile(Path(sys.argv[2]))
downloader = Downloader(HttpClient(), SystemClock())
io_thread().call(downloader.fetch, sys.argv[1], part, lambda done, total: None)
part.publish(overwrite=True)
"""


def saving(storage: Storage, target: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", SAVE, storage.base_url + PATH, str(target)]
    return subprocess.Popen(command)


def test_a_killed_process_leaves_no_half_file_under_the_name(tmp_path: Path) -> None:
    arrived, proceed = threading.Event(), threading.Event()
    with Storage({PATH: FILE}) as storage:
        storage.gets = [800_000]
        storage.stalls = [(arrived, proceed)]
        with saving(storage, tmp_path / "a.mp4") as process:
            assert arrived.wait(PATIENCE_S)
            while not any(each.stat().st_size for each in tmp_path.iterdir()):
                assert process.poll() is None
                time.sleep(0.01)
            process.send_signal(signal.SIGKILL)
            process.wait(PATIENCE_S)
        proceed.set()
        assert not (tmp_path / "a.mp4").exists()

        assert saved(storage, tmp_path / "a.mp4") == FILE


def test_processes_that_save_the_same_at_once_all_end_with_it(
    tmp_path: Path,
) -> None:
    with Storage({PATH: FILE}) as storage:
        processes = [saving(storage, tmp_path / "a.mp4") for _ in range(2)]
        assert [each.wait(PATIENCE_S) for each in processes] == [0, 0]
    assert (tmp_path / "a.mp4").read_bytes() == FILE
    assert names(tmp_path) == ["a.mp4"]


def test_giving_up_ends_the_transfer_and_leaves_nothing(tmp_path: Path) -> None:
    arrived, proceed = threading.Event(), threading.Event()

    async def scenario(storage: Storage, part: PartialFile) -> None:
        url = storage.base_url + PATH
        whole = threading.Event()

        def tell(done_bytes: int, _: int | None) -> None:
            if done_bytes == 800_000:
                whole.set()

        task = asyncio.ensure_future(fetched(url, part, AdvancingClock(), tell))
        await asyncio.to_thread(arrived.wait, PATIENCE_S)
        await asyncio.to_thread(whole.wait, PATIENCE_S)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        part.close()

    with Storage({PATH: FILE}) as storage:
        storage.gets = [800_000]
        storage.stalls = [(arrived, proceed)]
        io_thread().call(scenario, storage, PartialFile(tmp_path / "a.mp4"))
        proceed.set()
    assert names(tmp_path) == []
    assert ranges(storage) == [None]


# -- redirects, proxies, certificates ---------------------------------------------


def test_a_few_redirects_are_followed_and_no_more(tmp_path: Path) -> None:
    with Storage({PATH: FILE}) as storage, Storage() as first:
        for n in range(4):
            first.redirects[f"/{n}"] = f"/{n + 1}"
        first.redirects["/4"] = storage.base_url + PATH
        part = PartialFile(tmp_path / "a.mp4")
        fetch(first, part, "/0")
        part.publish(overwrite=False)

        first.redirects["/begin"] = "/0"
        with (
            closing(PartialFile(tmp_path / "b.mp4")) as other,
            pytest.raises(ServiceError, match="5 redirects"),
        ):
            fetch(first, other, "/begin")
    assert (tmp_path / "a.mp4").read_bytes() == FILE


@pytest.mark.parametrize(
    ("url", "location", "to"),
    [
        ("http://a/b?c", "/d", "http://a/d"),
        ("http://a/b", "https://e/f", "https://e/f"),
        ("https://a/b", "//e/f", "https://e/f"),
        ("https://a/b", "http://a/b", None),
        ("http://a/b", "file:///etc/passwd", None),
        ("http://a/b", "ftp://a/b", None),
    ],
)
def test_a_redirect_leads_to_http_and_never_out_of_https(
    url: str, location: str, to: str | None
) -> None:
    asked: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(str(request.url))
        if len(asked) > 1:
            return httpx.Response(200)
        return httpx.Response(302, headers={"Location": location})

    async def get() -> None:
        async with HttpClient(httpx.MockTransport(answer)).get(url, headers={}):
            pass

    if to is not None:
        io_thread().call(get)
        assert asked == [url, to]
        return
    with pytest.raises(NoAnswerError, match="redirect") as caught:
        io_thread().call(get)
    assert caught.value.is_final
    assert asked == [url]


@pytest.mark.parametrize(
    "url", ["ftp://a/b", "a.mp4", "http:///b", "http://a:port/b", "https://", ""]
)
def test_what_is_no_http_url_is_not_asked_for(url: str, tmp_path: Path) -> None:
    with (
        closing(PartialFile(tmp_path / "a.mp4")) as part,
        pytest.raises(ServiceError, match="not an http"),
    ):
        io_thread().call(fetched, url, part, AdvancingClock())


def test_a_signed_url_is_asked_for_as_it_stands(tmp_path: Path) -> None:
    signed = "/a%2Fb/c+d'(e)?X-Sig=%2F+=~*&y=a%20b"
    with (
        ScriptedServer(answers_always(page(status="404 No"))) as server,
        closing(PartialFile(tmp_path / "a.mp4")) as part,
    ):
        for path in (f"{signed}#part", "/ü b"):
            with pytest.raises(GoneError):
                io_thread().call(
                    fetched, server.base_url + path, part, AdvancingClock()
                )

    asked = [request.split()[1].decode() for request in server.requests]
    assert asked == [signed, "/%C3%BC%20b"]


PROXIES = ("http", "https", "all", "no")


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Give an environment without proxies."""
    for name in PROXIES:
        monkeypatch.delenv(f"{name}_proxy", raising=False)
        monkeypatch.delenv(f"{name.upper()}_PROXY", raising=False)
    return monkeypatch


def test_a_file_is_fetched_through_a_proxy(
    tmp_path: Path, environment: pytest.MonkeyPatch
) -> None:
    with Storage({PATH: FILE}) as storage:
        near = storage.base_url.replace("http://", "http://ann:pw@")
        environment.setenv("http_proxy", near)
        part = PartialFile(tmp_path / "a.mp4")
        io_thread().call(fetched, f"http://files.example{PATH}", part, AdvancingClock())
        part.close()
    [headers] = storage.headers_of("GET")
    assert headers["Host"] == "files.example"
    assert headers["Proxy-Authorization"].startswith("Basic ")
    assert part.size_bytes == len(FILE)


def test_https_is_tunnelled_and_its_certificate_is_looked_at(
    tmp_path: Path, environment: pytest.MonkeyPatch
) -> None:
    authority = trustme.CA()
    server_side = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("files.example", "127.0.0.1").configure_cert(server_side)
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))

    with Storage({PATH: FILE}, tls=server_side) as storage:
        with (
            closing(PartialFile(tmp_path / "b.mp4")) as other,
            pytest.raises(ServiceError, match="not trusted"),
        ):
            fetch(storage, other)
        environment.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
        with HTTPProxy(storage.server_port) as proxy:
            environment.setenv("HTTPS_PROXY", proxy.url())
            part = PartialFile(tmp_path / "a.mp4")
            url = f"https://files.example{PATH}"
            io_thread().call(fetched, url, part, AdvancingClock())
            part.publish(overwrite=False)
    assert proxy.targets == ["files.example:443"]
    assert (tmp_path / "a.mp4").read_bytes() == FILE


# -- what a job made --------------------------------------------------------------


@pytest.fixture(scope="module")
def shared(sandbox: RunningSandbox, tmp_path_factory: pytest.TempPathFactory) -> Any:
    home = tmp_path_factory.mktemp("downloads")
    with Client(sandbox.base_url, sandbox.api_key, home=home) as client:
        png = make_png(home / "cat.png", (64, 48))
        job = client.submit("image-upscale", image_url=png, upscale_factor="x2")
        job.wait(PATIENCE_S)
        job.settle(PATIENCE_S)
        yield client, job


@pytest.fixture
def steps(shared: Any) -> Any:
    """Give a job that has ended, its client, and the steps of its transfers."""
    client, job = shared
    seen: list[Transfer] = []
    stop = client.on_transfer(seen.append)
    yield client, job, seen
    stop()


def beside(file: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path(f"{file}.json").read_bytes())
    return found


def test_a_small_file_beside_the_result_says_where_it_came_from(
    steps: tuple[Client, Job, list[Transfer]], tmp_path: Path
) -> None:
    client, job, seen = steps
    file = job.download(tmp_path)

    said = beside(file)
    entry = client.core.store.find(job.id)
    assert entry is not None
    assert (said["mediakit"], said["job_id"]) == (1, job.id)
    assert said["service"] == client.service.identity
    assert said["account"] == client.service.account
    assert (said["function"], said["kind"]) == (entry.function, "image-upscale")
    assert said["body"] == json.loads(entry.body)
    assert (said["take"], said["attempt"], said["key"]) == (1, 1, entry.key)
    assert said["estimate_high_micro_usd"] == entry.estimate_high_micro_usd
    assert said["charge_micro_usd"] == job.charge_micro_usd
    assert said["output_url"] == job.url
    assert said["media_type"] == "image"
    assert said["prompt"] is None
    assert "webhook_url" not in said
    assert said["size_bytes"] == file.stat().st_size
    for name in ("submitted_at", "finished_at", "saved_at"):
        assert datetime.fromisoformat(said[name]).tzinfo is not None
    assert client.service.api_key not in Path(f"{file}.json").read_text()
    assert {(x.direction, x.name) for x in seen} == {("download", file.name)}
    assert seen[-1].done_bytes == seen[-1].total_bytes == file.stat().st_size


def test_what_is_here_already_is_not_fetched_again(
    steps: tuple[Client, Job, list[Transfer]], tmp_path: Path
) -> None:
    _, job, seen = steps
    file = job.download(tmp_path / "cat.png")
    seen.clear()

    assert job.download(tmp_path / "cat.png") == file
    assert seen == []
    assert job.download(tmp_path / "cat.png", overwrite=True) == file
    assert seen != []
    assert names(tmp_path) == ["cat.png", "cat.png.json"]


def test_a_large_file_is_known_by_its_length_and_has_no_hash(
    shared: tuple[Client, Job], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mediakit.client.transfers.checksum.MOST_BYTES", 100)
    _, job = shared
    path = job.download(tmp_path)
    beside = Path(f"{path}.json")

    assert json.loads(beside.read_bytes())["sha256"] is None
    assert job.download(tmp_path) == path
    path.write_bytes(b"something else")
    with pytest.raises(InputError):
        job.download(tmp_path)


def test_a_charge_that_settled_since_is_noted_beside_the_file(
    steps: tuple[Client, Job, list[Transfer]], tmp_path: Path
) -> None:
    _, job, seen = steps
    file = job.download(tmp_path)
    early = {**beside(file), "charge_micro_usd": None}
    Path(f"{file}.json").write_text(json.dumps(early))
    seen.clear()

    job.download(tmp_path)
    assert beside(file) == {**early, "charge_micro_usd": job.charge_micro_usd}
    assert seen == []


def flipped(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)


def of_another_job(file: Path) -> None:
    said = {**beside(file), "job_id": "media_another"}
    Path(f"{file}.json").write_text(json.dumps(said))


def of_another_service(file: Path) -> None:
    said = {**beside(file), "service": "another"}
    Path(f"{file}.json").write_text(json.dumps(said))


def without_sidecar(file: Path) -> None:
    Path(f"{file}.json").unlink()


@pytest.mark.parametrize(
    "change", [flipped, of_another_job, of_another_service, without_sidecar]
)
def test_a_file_that_is_not_the_result_is_never_replaced_silently(
    shared: tuple[Client, Job], tmp_path: Path, change: Callable[[Path], None]
) -> None:
    _, job = shared
    file = job.download(tmp_path / "cat.png")
    whole = file.read_bytes()
    change(file)
    mine = file.read_bytes()

    with pytest.raises(InputError, match="overwrite=True"):
        job.download(file)
    assert file.read_bytes() == mine
    job.download(file, overwrite=True)
    assert file.read_bytes() == whole
    assert beside(file)["job_id"] == job.id


def test_a_json_file_of_somebody_else_is_not_replaced(
    shared: tuple[Client, Job], tmp_path: Path
) -> None:
    _, job = shared
    notes = tmp_path / "cat.png.json"
    notes.write_text('{"my": "notes"}')

    with pytest.raises(InputError, match=r"cat\.png\.json"):
        job.download(tmp_path / "cat.png")
    assert names(tmp_path) == ["cat.png.json"]


def test_a_job_of_elsewhere_is_saved_with_what_is_known_of_it(
    shared: tuple[Client, Job], sandbox: RunningSandbox, tmp_path: Path
) -> None:
    _, job = shared
    home = tmp_path / "home"
    with Client(sandbox.base_url, sandbox.api_key, home=home) as elsewhere:
        file = elsewhere.job(job.id).download(tmp_path)

    said = beside(file)
    unknown = ("body", "key", "take", "estimate_kind", "submitted_at")
    assert said["job_id"] == job.id
    assert said["charge_micro_usd"] == job.charge_micro_usd
    assert [said[name] for name in unknown] == [None] * 5


def test_a_full_disk_is_a_sentence_and_gives_its_room_back(
    shared: tuple[Client, Job], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, job = shared

    def full(part: PartialFile, piece: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(PartialFile, "write", full)
    with pytest.raises(InputError, match="no room left") as caught:
        job.download(tmp_path / "cat.png")
    assert "The service keeps" in str(caught.value)
    assert names(tmp_path) == []


def test_a_folder_that_may_not_be_written_is_a_sentence(
    shared: tuple[Client, Job], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, job = shared

    def refuse(*_: Any) -> int:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(InputError, match="may not be written") as caught:
        job.download(tmp_path / "cat.png")
    monkeypatch.undo()
    assert str(tmp_path / "cat.png") in str(caught.value)
    with pytest.raises(InputError, match="File name too long"):
        job.download(tmp_path / ("x" * 250))


@pytest.mark.parametrize("path", ["no/out.png", "no/such/"])
def test_a_folder_that_is_missing_is_named(
    shared: tuple[Client, Job], tmp_path: Path, path: str
) -> None:
    _, job = shared
    with pytest.raises(InputError, match="folder that exists"):
        job.download(f"{tmp_path}/{path}")


# -- anywhere that fsspec knows ---------------------------------------------------


@pytest.fixture
def bucket() -> Any:
    files = fsspec.filesystem("memory")
    yield files
    files.store.clear()
    files.pseudo_dirs[:] = [""]


def test_a_result_goes_to_any_url_that_fsspec_knows(
    steps: tuple[Client, Job, list[Transfer]], tmp_path: Path, bucket: Any
) -> None:
    _, job, seen = steps
    here = job.download(tmp_path)
    seen.clear()
    place = job.download("memory://bucket/results/")

    assert place == f"memory://bucket/results/{here.name}"
    assert bucket.cat_file(f"/bucket/results/{here.name}") == here.read_bytes()
    said = json.loads(bucket.cat_file(f"/bucket/results/{here.name}.json"))
    assert {**said, "saved_at": ""} == {**beside(here), "saved_at": ""}
    assert len(bucket.find("/bucket")) == 2

    seen.clear()
    assert job.download("memory://bucket/results") == place
    assert seen == []
    assert job.download(str(place), overwrite=True) == place
    assert seen != []
    assert len(bucket.find("/bucket")) == 2


def test_a_remote_file_of_something_else_is_never_replaced_silently(
    shared: tuple[Client, Job], bucket: Any
) -> None:
    _, job = shared
    bucket.pipe_file("/bucket/a.png", b"mine")

    with pytest.raises(InputError, match="overwrite=True"):
        job.download("memory://bucket/a.png")
    assert bucket.find("/bucket") == ["/bucket/a.png"]


def test_a_remote_file_appears_whole_or_not_at_all(
    shared: tuple[Client, Job], bucket: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, job = shared

    def broken(*_: Any) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(type(bucket), "mv", broken)
    with pytest.raises(InputError, match="Input/output"):
        job.download("memory://bucket/a.png")
    assert bucket.find("/bucket") == []


@pytest.mark.parametrize("path", [5, b"here", ["here"], "a\0b", "~nobody-here/a"])
def test_what_is_no_place_is_a_sentence(shared: tuple[Client, Job], path: Any) -> None:
    _, job = shared
    with pytest.raises(InputError, match=r"^path must be .*[Nn]othing was"):
        job.download(path)


def test_a_file_url_is_a_path(shared: tuple[Client, Job], tmp_path: Path) -> None:
    _, job = shared
    place = job.download((tmp_path / "a b.png").as_uri())

    assert place == tmp_path / "a b.png"
    assert names(tmp_path) == ["a b.png", "a b.png.json"]


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("nowhere://ann:pw-1@host/a", "Protocol not known"),
        ("s3://ann:pw-1@bucket/a", "s3fs"),
    ],
)
def test_a_url_that_fsspec_does_not_know_is_a_sentence(
    shared: tuple[Client, Job], url: str, words: str
) -> None:
    _, job = shared
    with pytest.raises(InputError, match=words) as caught:
        job.download(url)
    assert "pw-1" not in str(caught.value)


def test_without_fsspec_the_sentence_says_what_to_install(
    shared: tuple[Client, Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, job = shared
    monkeypatch.setitem(sys.modules, "fsspec.core", None)

    with pytest.raises(InputError, match=r"mediakit\[remote\]"):
        job.download("memory://bucket/a.png")


# -- no secrets -------------------------------------------------------------------


def test_no_log_and_no_error_holds_the_address_of_a_file(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with Storage({PATH: FILE}) as storage:
        storage.redirects["/signed"] = f"{PATH}?signature={SIGNATURE}"
        storage.gets = [700_000, 0, 0, 0, 0]
        with (
            closing(PartialFile(tmp_path / "a.mp4")) as part,
            pytest.raises(ServiceError) as caught,
        ):
            fetch(storage, part, "/signed")
    said = [record.getMessage() for record in caplog.records]
    said += [str(caught.value), repr(caught.value.__context__)]
    assert not any(SIGNATURE in line for line in said)


def test_a_sidecar_without_its_file_is_in_nobodys_way(tmp_path: Path) -> None:
    target = LocalDestination(tmp_path / "a.mp4")
    assert held(target, lambda _: True) is None
    (tmp_path / "a.mp4.json").write_bytes(b'{"mediakit": 1}')
    assert held(target, lambda _: True) is None
    (tmp_path / "a.mp4").write_bytes(b"")
    with pytest.raises(InputError, match="it exists"):
        held(target, lambda _: True)
