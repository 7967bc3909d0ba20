"""Downloads: whole under their name or not at all, and continued where they broke."""

from __future__ import annotations

import asyncio
import errno
import gzip
import json
import logging
import random
import resource
import sys
import threading
import zlib
from collections.abc import Callable, Coroutine, Iterator
from datetime import datetime
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import fsspec  # type: ignore[import-untyped]
import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mediakit import AsyncClient, Client, Job
from mediakit.client import Service
from mediakit.client.progress import Transfer
from mediakit.errors import GoneError, InputError, ServiceError
from mediakit.history import History
from mediakit.sandbox.server.running import RunningSandbox
from tests.support.advancing_clock import AdvancingClock
from tests.support.clients import async_client
from tests.support.samples.media_samples import make_png
from tests.support.servers.file_server import FileServer
from tests.support.servers.job_server import SETTLED, JobServer
from tests.support.servers.loopback import Asked, Said
from tests.support.servers.scripted_server import (
    ScriptedServer,
    Visit,
    answers_always,
    page,
)
from tests.support.servers.storage import SIGNATURE, Storage

API_KEY = "key-0123456789abcdef"
FILE = random.Random(1).randbytes(1_500_000)
OTHER = random.Random(2).randbytes(1_400_000)
PATH = "/files/a.mp4"


def completed(job_id: str, url: str) -> dict[str, Any]:
    file = {"url": url, "content_type": "video/mp4"}
    output = {"media_type": "video", "video": file}
    return {"id": job_id, "status": "completed", "output": output, "billing": SETTLED}


class Desk:
    """Saves files as outputs of jobs, without pauses between tries."""

    def __init__(self, history: History) -> None:
        self.clock = AdvancingClock()
        self.history = history
        self._urls: dict[str, str] = {}
        self.server = JobServer(
            lambda job_id, _: Said(completed(job_id, self._urls[job_id]))
        )

    def job_at(self, url: str) -> str:
        job_id = f"media_{len(self._urls)}"
        self._urls[job_id] = url
        return job_id

    def run(
        self,
        work: Callable[[AsyncClient], Coroutine[Any, Any, Any]],
        service: Service | None = None,
    ) -> Any:
        async def main() -> Any:
            client = async_client(
                service or Service(self.server.base_url, API_KEY),
                history=self.history,
                clock=self.clock,
            )
            try:
                return await work(client)
            finally:
                await client.aclose()

        with asyncio.Runner() as runner:
            return runner.run(main())

    def save(self, url: str, target: Path, *, overwrite: bool = False) -> bytes:
        job_id = self.job_at(url)

        async def work(client: AsyncClient) -> Path:
            job = await client.job(job_id)
            return await job.download(target, overwrite=overwrite)

        path: Path = self.run(work)
        return path.read_bytes()


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    home = tmp_path_factory.mktemp("desk")
    with History(home / "history.sqlite3") as history:
        desk = Desk(history)
        with desk.server:
            yield desk


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def ranges(storage: Storage) -> list[str | None]:
    return [headers.get("Range") for headers in storage.headers_of("GET")]


# -- one transfer -----------------------------------------------------------------


def test_a_download_resumes_where_its_connection_broke(
    desk: Desk, tmp_path: Path
) -> None:
    # More often than it is tried without progress.
    with Storage({PATH: FILE}) as storage:
        storage.gets = [700_000, 300_000, 100_000, 100_000, 100_000, 100_000]
        assert desk.save(storage.base_url + PATH, tmp_path / "a.mp4") == FILE

    assert ranges(storage)[:3] == [None, "bytes=700000-", "bytes=1000000-"]
    assert all("If-Range" in h for h in storage.headers_of("GET")[1:])
    assert storage.given_bytes == len(FILE)
    assert names(tmp_path) == ["a.mp4", "a.mp4.json"]


@pytest.mark.parametrize(
    ("validator", "gets"), [("etag", [900_000, 0, 0, 0, 0]), ("none", [900_000] * 5)]
)
def test_an_incomplete_download_leaves_nothing_and_can_be_repeated(
    desk: Desk, tmp_path: Path, validator: str, gets: list[int | None]
) -> None:
    with Storage({PATH: FILE}, validator=validator) as storage:
        storage.gets = gets
        with pytest.raises(ServiceError, match="the same call fetches it again"):
            desk.save(storage.base_url + PATH, tmp_path / "a.mp4")
        assert len(ranges(storage)) == 5  # the first try made progress, four did not
        assert names(tmp_path) == []
        assert desk.save(storage.base_url + PATH, tmp_path / "a.mp4") == FILE


@pytest.mark.parametrize("options", [{"ranges": False}, {"validator": "weak"}])
def test_without_a_strong_etag_or_ranges_a_file_starts_over(
    desk: Desk, tmp_path: Path, options: dict[str, Any]
) -> None:
    slept = len(desk.clock.slept_s)
    with Storage({PATH: FILE}, **options) as storage:
        storage.gets = [-503, 900_000, -429, -500]
        assert desk.save(storage.base_url + PATH, tmp_path / "a.mp4") == FILE
    assert storage.given_bytes == len(FILE) + 900_000
    assert len(desk.clock.slept_s) == slept + 4


def test_a_missing_or_refused_file_is_reported_at_once(
    desk: Desk, tmp_path: Path
) -> None:
    with Storage({PATH: FILE}) as storage:
        storage.gets = [-403]
        with pytest.raises(ServiceError, match="403"):
            desk.save(storage.base_url + PATH, tmp_path / "a.mp4")
        with pytest.raises(GoneError):
            desk.save(f"{storage.base_url}/files/b", tmp_path / "a.mp4")
    assert len(storage.asked) == 2
    assert names(tmp_path) == []


STEPS = st.lists(
    st.tuples(st.integers(0, 3_000), st.booleans()), min_size=1, max_size=12
)


@given(steps=STEPS, validator=st.sampled_from(["etag", "date", "weak", "none"]))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_the_file_is_one_complete_version_whatever_breaks_or_changes(
    desk: Desk, tmp_path: Path, steps: list[tuple[int, bool]], validator: str
) -> None:
    versions = [bytes([n]) * (1_000 + 7 * n) for n in range(len(steps) + 1)]
    with Storage({PATH: versions[0]}, validator=validator) as storage:
        storage.gets = [cut for cut, _ in steps]
        storage.changes = [
            versions[n] if changes else None for n, (_, changes) in enumerate(steps)
        ]
        target = tmp_path / "a.mp4"
        try:
            content = desk.save(storage.base_url + PATH, target, overwrite=True)
        except ServiceError:
            assert len(steps) > 4  # this many in a row made no progress
        else:
            assert content in versions


# -- several at once --------------------------------------------------------------


def test_two_concurrent_downloads_to_one_name_do_not_interfere(
    desk: Desk, tmp_path: Path
) -> None:
    target = tmp_path / "a.mp4"
    arrived, proceed = threading.Event(), threading.Event()
    with Storage({PATH: FILE, "/files/b": OTHER}) as storage:
        first = desk.job_at(storage.base_url + PATH)
        second = desk.job_at(f"{storage.base_url}/files/b")

        async def work(client: AsyncClient) -> None:
            storage.gets = [800_000]
            storage.stalls = [(arrived, proceed)]
            early = asyncio.ensure_future((await client.job(first)).download(target))
            await asyncio.to_thread(arrived.wait)
            await (await client.job(second)).download(target)
            proceed.set()
            with pytest.raises(InputError, match="already exists"):
                await early
            assert target.read_bytes() == OTHER
            assert beside(target)["job_id"] == second
            await (await client.job(first)).download(target, overwrite=True)

        desk.run(work)
    assert target.read_bytes() == FILE
    assert beside(target)["job_id"] == first
    assert names(tmp_path) == ["a.mp4", "a.mp4.json"]


def test_cancelling_ends_the_transfer_and_leaves_nothing(
    desk: Desk, tmp_path: Path
) -> None:
    arrived, proceed = threading.Event(), threading.Event()
    with Storage({PATH: FILE}) as storage:
        job_id = desk.job_at(storage.base_url + PATH)

        async def work(client: AsyncClient) -> None:
            storage.gets = [800_000]
            storage.stalls = [(arrived, proceed)]
            job = await client.job(job_id)
            given_up = asyncio.ensure_future(job.download(tmp_path / "a.mp4"))
            await asyncio.to_thread(arrived.wait)
            given_up.cancel()
            with pytest.raises(asyncio.CancelledError):
                await given_up

        desk.run(work)
        proceed.set()
    assert names(tmp_path) == []
    assert ranges(storage) == [None]


# -- redirects, URLs, certificates -------------------------------------------------


def test_at_most_five_redirects_are_followed(desk: Desk, tmp_path: Path) -> None:
    with Storage({PATH: FILE}) as storage, Storage() as first:
        for n in range(4):
            first.redirects[f"/{n}"] = f"/{n + 1}"
        first.redirects["/4"] = storage.base_url + PATH
        assert desk.save(f"{first.base_url}/0", tmp_path / "a.mp4") == FILE

        first.redirects["/begin"] = "/0"
        with pytest.raises(ServiceError, match="5 redirects"):
            desk.save(f"{first.base_url}/begin", tmp_path / "b.mp4")


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
def test_a_redirect_must_lead_to_http_and_never_away_from_https(
    tmp_path: Path, url: str, location: str, to: str | None
) -> None:
    asked: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.host == "service":
            return httpx.Response(200, json=completed("media_1", url))
        asked.append(str(request.url))
        if len(asked) > 1:
            return httpx.Response(200, content=FILE)
        return httpx.Response(302, headers={"Location": location})

    transport = httpx.MockTransport(answer)
    with Client(
        "http://service", API_KEY, home=tmp_path / "home", transport=transport
    ) as client:
        job = client.job("media_1")
        if to is not None:
            job.download(tmp_path / "a.mp4")
            assert asked == [url, to]
            return
        with pytest.raises(ServiceError, match="redirect"):
            job.download(tmp_path / "a.mp4")
    assert asked == [url]


def test_a_signed_url_is_requested_unchanged(desk: Desk, tmp_path: Path) -> None:
    signed = "/a%2Fb/c+d'(e)?X-Sig=%2F+=~*&y=a%20b"
    with ScriptedServer(answers_always(page(status="404 No"))) as server:
        for path in (f"{signed}#part", "/ü b"):
            with pytest.raises(GoneError):
                desk.save(server.base_url + path, tmp_path / "a.mp4")

    asked = [request.split()[1].decode() for request in server.requests]
    assert asked == [signed, "/%C3%BC%20b"]


def test_no_log_and_no_error_contains_the_url_of_a_file(
    desk: Desk, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with Storage({PATH: FILE}) as storage:
        storage.redirects["/signed"] = f"{PATH}?signature={SIGNATURE}"
        storage.gets = [700_000, 0, 0, 0, 0]
        with pytest.raises(ServiceError) as caught:
            desk.save(f"{storage.base_url}/signed", tmp_path / "a.mp4")
    said = [record.getMessage() for record in caplog.records]
    said += [str(caught.value), repr(caught.value.__context__)]
    assert not any(SIGNATURE in line for line in said)


class SigningServer(FileServer):
    """Holds one file, whose URLs are signed at each read of the job for one GET.

    The first GET is answered 503, and a second one of the same URL is refused.
    """

    def __init__(self) -> None:
        super().__init__({})
        self.signed = count(1)
        self.used: list[str] = []

    def answer(self, asked: Asked) -> Said:
        folder, _, name = asked.path.rpartition("/")
        if folder == "/v1/media/jobs":
            return Said(completed(name, self.url(f"files/{next(self.signed)}")))
        if folder != "/files":
            return Said({"message": "not found"}, 404)
        self.used.append(name)
        if self.used.count(name) > 1:
            return Said(b"Request has expired", 403)
        headers = {"Content-Type": "video/mp4", "ETag": '"v1"'}
        if len(self.used) == 1:
            return Said(FILE[:9], 503, headers)
        return Said(FILE, 200, headers)


@pytest.mark.parametrize("door", ["download", "fetch_output"])
def test_a_url_that_expires_between_two_tries_is_read_again(
    desk: Desk, tmp_path: Path, door: str
) -> None:
    async def work(client: AsyncClient) -> bytes:
        job = await client.job("media_1")
        if door == "fetch_output":
            return await job.fetch_output(len(FILE))
        path: Path = await job.download(tmp_path / "a.mp4")
        return await asyncio.to_thread(path.read_bytes)

    with SigningServer() as server:
        service = Service(server.base_url, API_KEY)
        assert desk.run(work, service) == FILE

    # The first URL was tried twice, then a newer one.
    assert server.used[0] == server.used[1] < server.used[2]


def test_queued_downloads_read_their_url_when_they_start(
    desk: Desk, tmp_path: Path
) -> None:
    events: list[str] = []

    class Server(FileServer):
        def answer(self, asked: Asked) -> Said:
            folder, _, name = asked.path.rpartition("/")
            if folder == "/v1/media/jobs":
                events.append("read")
                return Said(completed(name, self.url(f"files/{name}")))
            events.append("get")
            return Said(FILE, 200, {"Content-Type": "video/mp4"})

    async def work(client: AsyncClient) -> None:
        jobs = [await client.job(f"media_{n}") for n in range(12)]
        events.clear()
        await asyncio.gather(
            *(job.download(tmp_path / f"{n}.mp4") for n, job in enumerate(jobs))
        )

    with Server({}) as server:
        desk.run(work, Service(server.base_url, API_KEY))

    # At most one URL per concurrent download is read in advance.
    ahead = [
        events[:n].count("read") - events[:n].count("get") for n in range(len(events))
    ]
    assert events.count("get") == 12
    assert max(ahead) <= 4


def test_an_output_in_memory_has_a_limit(desk: Desk) -> None:
    with Storage({PATH: FILE}) as storage:
        storage.gets = [700_000]
        job_id = desk.job_at(storage.base_url + PATH)

        async def work(client: AsyncClient) -> None:
            job = await client.job(job_id)
            assert await job.fetch_output(len(FILE)) == FILE
            with pytest.raises(ServiceError, match="larger than 1,499,999 bytes"):
                await job.fetch_output(len(FILE) - 1)

        desk.run(work)


# -- what a job made --------------------------------------------------------------


@pytest.fixture(scope="module")
def shared(sandbox: RunningSandbox, tmp_path_factory: pytest.TempPathFactory) -> Any:
    home = tmp_path_factory.mktemp("downloads")
    with Client(sandbox.base_url, sandbox.api_key, home=home) as client:
        png = make_png(home / "cat.png", (64, 48))
        job = client.submit("image-upscale", image_url=png, upscale_factor="x2")
        job.wait().settle()
        yield client, job


@pytest.fixture
def job(shared: tuple[Client, Job]) -> Job:
    return shared[1]


@pytest.fixture
def steps(shared: tuple[Client, Job]) -> Iterator[list[Transfer]]:
    """Return the progress events of the test's transfers."""
    seen: list[Transfer] = []
    stop = shared[0].on_transfer(seen.append)
    yield seen
    stop()


def beside(file: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path(f"{file}.json").read_bytes())
    return found


def test_a_sidecar_records_the_origin_of_the_result(
    shared: tuple[Client, Job], steps: list[Transfer], tmp_path: Path
) -> None:
    client, job = shared
    file = job.download(tmp_path)

    said = beside(file)
    entry = client.components.store.find(job.id)
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
    assert {(x.direction, x.name) for x in steps} == {("download", file.name)}
    assert steps[-1].done_bytes == steps[-1].total_bytes == file.stat().st_size


def test_an_existing_file_is_not_fetched_again_but_a_later_charge_is_recorded(
    job: Job, steps: list[Transfer], tmp_path: Path
) -> None:
    file = job.download((tmp_path / "a cat.png").as_uri())
    assert file == tmp_path / "a cat.png"
    early = {**beside(file), "charge_micro_usd": None, "my": "note"}
    Path(f"{file}.json").write_text(json.dumps(early))
    steps.clear()

    assert job.download(file) == file
    assert steps == []
    assert beside(file) == {**early, "charge_micro_usd": job.charge_micro_usd}
    assert job.download(file, overwrite=True) == file
    assert steps != []
    assert names(tmp_path) == ["a cat.png", "a cat.png.json"]


def flipped(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)


def said_otherwise(file: Path, **said: object) -> None:
    Path(f"{file}.json").write_text(json.dumps(beside(file) | said))


def without_sidecar(file: Path) -> None:
    Path(f"{file}.json").unlink()


@pytest.mark.parametrize(
    "change",
    [
        flipped,
        partial(said_otherwise, job_id="media_another"),
        partial(said_otherwise, service="another"),
        partial(said_otherwise, job_id=5),
        without_sidecar,
    ],
    ids=count(),
)
def test_a_file_that_is_not_the_result_is_never_replaced_silently(
    job: Job, tmp_path: Path, change: Callable[[Path], None]
) -> None:
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


def test_another_json_file_is_not_replaced(job: Job, tmp_path: Path) -> None:
    notes = tmp_path / "cat.png.json"
    notes.write_text('{"my": "notes"}')

    with pytest.raises(InputError, match=r"cat\.png\.json"):
        job.download(tmp_path / "cat.png")
    assert names(tmp_path) == ["cat.png.json"]


def test_a_full_disk_is_reported_and_its_partial_file_is_removed(
    desk: Desk, tmp_path: Path
) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    with Storage({PATH: FILE}) as storage:
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(FILE) - 1, before[1]))
        try:
            with pytest.raises(InputError, match="not enough space") as caught:
                desk.save(storage.base_url + PATH, tmp_path / "cat.png")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert "The service still has the output" in str(caught.value)
    assert names(tmp_path) == []


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("{}/no/out.png", "folder that exists"),
        ("{}/no/such/", "folder that exists"),
        ("{}/" + "x" * 250, "File name too long"),
        ("a\0b", "a file, a folder or a URL"),
        ("nowhere://ann:pw-1@host/a", "Protocol not known"),
        ("s3://ann:pw-1@bucket/a", "s3fs"),
    ],
)
def test_an_unwritable_destination_is_reported(
    job: Job, tmp_path: Path, path: str, words: str
) -> None:
    with pytest.raises(InputError, match=words) as caught:
        job.download(path.format(tmp_path))
    assert "pw-1" not in str(caught.value)
    assert str(caught.value).startswith("path ")


# -- anywhere that fsspec knows ---------------------------------------------------


@pytest.fixture
def bucket() -> Iterator[Any]:
    files = fsspec.filesystem("memory")
    yield files
    files.store.clear()
    files.pseudo_dirs[:] = [""]


def test_a_result_is_saved_to_any_url_that_fsspec_supports(
    job: Job, steps: list[Transfer], tmp_path: Path, bucket: Any
) -> None:
    here = job.download(tmp_path)
    steps.clear()
    place = job.download("memory://bucket/results/")

    assert place == f"memory://bucket/results/{here.name}"
    assert bucket.cat_file(f"/bucket/results/{here.name}") == here.read_bytes()
    said = json.loads(bucket.cat_file(f"/bucket/results/{here.name}.json"))
    assert {**said, "saved_at": ""} == {**beside(here), "saved_at": ""}
    assert len(bucket.find("/bucket")) == 2

    steps.clear()
    assert job.download("memory://bucket/results") == place
    assert steps == []
    assert job.download(str(place), overwrite=True) == place
    assert steps != []
    assert len(bucket.find("/bucket")) == 2


def test_a_remote_file_of_something_else_is_never_replaced_silently(
    job: Job, bucket: Any
) -> None:
    bucket.pipe_file("/bucket/a.png", b"mine")

    with pytest.raises(InputError, match="overwrite=True"):
        job.download("memory://bucket/a.png")
    assert bucket.find("/bucket") == ["/bucket/a.png"]


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.EIO, "Input/output error"),
        FileNotFoundError("The specified bucket does not exist"),
    ],
)
def test_a_remote_file_appears_complete_or_not_at_all(
    job: Job, bucket: Any, monkeypatch: pytest.MonkeyPatch, error: OSError
) -> None:
    def broken(*_: Any) -> None:
        raise error

    monkeypatch.setattr(type(bucket), "mv", broken)
    with pytest.raises(InputError, match=error.strerror or str(error)):
        job.download("memory://bucket/a.png")
    # A sidecar without its file is replaced.
    assert bucket.find("/bucket") == ["/bucket/a.png.json"]
    monkeypatch.undo()
    job.download("memory://bucket/a.png")
    assert bucket.find("/bucket") == ["/bucket/a.png", "/bucket/a.png.json"]


def test_without_fsspec_the_message_names_the_package(
    job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "fsspec.core", None)

    with pytest.raises(InputError, match=r"pip install"):
        job.download("memory://bucket/a.png")


@pytest.mark.parametrize(
    "label", ["UTF-8", "binary", "none", "base64", "aws-chunked", "IDENTITY", ""]
)
def test_a_content_encoding_that_is_no_compression_changes_nothing(
    desk: Desk, tmp_path: Path, label: str
) -> None:
    with FileServer({"a.mp4": FILE}, headers={"Content-Encoding": label}) as server:
        assert desk.save(server.url("a.mp4"), tmp_path / "a.mp4") == FILE


@pytest.mark.parametrize("cut", [False, True])
@pytest.mark.parametrize(
    ("label", "packed"),
    [
        ("gzip", gzip.compress(FILE)),
        ("X-GZIP", gzip.compress(FILE)),
        ("aws-chunked, gzip", gzip.compress(FILE)),
        ("gzip", gzip.compress(FILE[:9]) + gzip.compress(FILE[9:]) + bytes(512)),
        ("deflate", zlib.compress(FILE)),
    ],
)
def test_a_compressed_file_is_saved_decompressed(
    desk: Desk, tmp_path: Path, label: str, packed: bytes, *, cut: bool
) -> None:
    whole = page(packed, f"Content-Encoding: {label}", 'ETag: "v1"')

    def broken(visit: Visit) -> None:
        visit.request()
        visit.say(whole[: len(whole) // 2])

    scripts = [broken] if cut else []
    with ScriptedServer(*scripts, answers_always(whole)) as server:
        assert desk.save(f"{server.base_url}/a.mp4", tmp_path / "a.mp4") == FILE


@pytest.mark.parametrize(
    ("label", "packed", "words"),
    [
        ("gzip", gzip.compress(FILE)[:-9], "ended early"),
        ("gzip", FILE, "damaged"),
        ("gzip", gzip.compress(bytes(300 << 20), 1), "more than 20 times its size"),
        ("gzip, gzip", gzip.compress(gzip.compress(FILE)), "browser.*job.url"),
        ("br", FILE, "browser.*job.url"),
    ],
    ids=["short", "damaged", "bomb", "twice", "unknown"],
)
def test_undecodable_data_is_reported_and_leaves_nothing(
    desk: Desk, tmp_path: Path, label: str, packed: bytes, words: str
) -> None:
    files, headers = {"a.mp4": packed}, {"Content-Encoding": label}
    with (
        FileServer(files, headers=headers) as server,
        pytest.raises(ServiceError, match=words),
    ):
        desk.save(server.url("a.mp4"), tmp_path / "a.mp4")
    assert names(tmp_path) == []


def test_a_compressed_output_in_memory_has_the_limit_of_its_own_size(
    desk: Desk,
) -> None:
    files, headers = (
        {"a.mp4": gzip.compress(bytes(99_999))},
        {"Content-Encoding": "gzip"},
    )
    with FileServer(files, headers=headers) as server:
        job_id = desk.job_at(server.url("a.mp4"))

        async def work(client: AsyncClient) -> None:
            job = await client.job(job_id)
            assert await job.fetch_output(99_999) == bytes(99_999)
            with pytest.raises(ServiceError, match="larger than 99,998 bytes"):
                await job.fetch_output(99_998)

        desk.run(work)
