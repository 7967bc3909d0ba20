"""One gigabyte up and down, compared with other services' SDKs and raw HTTP clients.

Ours is the whole call: `upload()` hashes the file, requests a grant, sends the file and
commits its URL to the history; `download()` saves a job's result with its sidecar. Each
SDK uploads and saves a file as shown in its documentation; if that shows two ways, both
are measured. The raw clients are shown for context.

Limits, in both directions: at most 8 MiB of memory above idle in every round, and at
least as fast as each SDK. For uploads, only sending is compared, because no SDK hashes
the file.

The SDKs are those of `client_overhead.py`. Set `BENCHMARK_ROUNDS` to change the number
of rounds, and `BENCHMARK_SIZE_BYTES` for a smaller file.
"""

# mypy: disable-error-code="import-not-found"
# The SDKs are installed in their own environment.

from __future__ import annotations

import hashlib
import http.client
import json
import os
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import warnings
import wave
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import IO, Any

from client_overhead import SDKS as ALL_SDKS
from client_overhead import sdk_python

SDKS = ALL_SDKS
SIZE_BYTES = int(os.environ.get("BENCHMARK_SIZE_BYTES", "1_000_000_000"))
SMALL_BYTES = 1_000
ROUNDS = int(os.environ.get("BENCHMARK_ROUNDS", "7"))
MIN_SPEED = 1.0
"""Our speed as a multiple of that of an SDK."""

MAX_MEMORY_MIB = 8.0
BLOCK_BYTES = 1 << 20
KEY = "a-key-for-the-benchmark"
JOB = "media_00000000-0000-4000-8000-000000000000"
OURS = "mediakit"
COMPARED = {"up": "mediakit, sending alone", "down": OURS}

Transfer = Callable[[], object]
"""Transfers one file. If it returns a float, those are the seconds to count."""

Prepare = Callable[[str, Path, Path], Transfer]
"""Creates a client for a base URL and returns the transfer of a file.

The arguments are the base URL, the file, and the path to save a download to.
"""


# -- ours -------------------------------------------------------------------------


def our_client(base_url: str, out: Path) -> Any:
    import mediakit

    home, catalog = out.with_name("home"), mediakit.Catalog.default()
    return mediakit.Client(base_url, KEY, home=home, catalog=catalog)


def our_upload(base_url: str, file: Path, out: Path) -> Transfer:
    client = our_client(base_url, out)
    return lambda: client.upload(file)


def our_sending(base_url: str, file: Path, out: Path) -> Transfer:
    client = our_client(base_url, out)

    def transfer() -> float:
        steps_s: list[float] = []
        stop = client.on_transfer(lambda _: steps_s.append(time.perf_counter()))
        client.upload(file)
        stop()
        return steps_s[-1] - steps_s[0]

    return transfer


def our_download(base_url: str, file: Path, out: Path) -> Transfer:
    client = our_client(base_url, out)
    return lambda: client.job(f"{JOB}-{file.name}").download(out)


# -- other SDKs -------------------------------------------------------------------


def fal_upload(base_url: str, file: Path, out: Path) -> Transfer:
    import fal_client

    fal_client.client.REST_URL = fal_client.client.CDN_URL = f"{base_url}/fal"
    client = fal_client.SyncClient(key=KEY)
    return lambda: client.upload_file(file)


def openai_client(base_url: str) -> Any:
    import openai

    return openai.OpenAI(api_key=KEY, base_url=f"{base_url}/openai/v1")


def openai_upload(base_url: str, file: Path, out: Path) -> Transfer:
    client = openai_client(base_url)
    return lambda: client.files.create(file=file, purpose="user_data")


def openai_upload_opened(base_url: str, file: Path, out: Path) -> Transfer:
    client = openai_client(base_url)

    def transfer() -> None:
        with file.open("rb") as content:
            client.files.create(file=content, purpose="user_data")

    return transfer


def openai_download(base_url: str, file: Path, out: Path) -> Transfer:
    client = openai_client(base_url)
    return lambda: client.videos.download_content(file.name).write_to_file(out)


def openai_download_streamed(base_url: str, file: Path, out: Path) -> Transfer:
    client = openai_client(base_url)

    def transfer() -> None:
        videos = client.videos.with_streaming_response
        with videos.download_content(file.name) as response:
            response.stream_to_file(out)

    return transfer


def replicate_upload(base_url: str, file: Path, out: Path) -> Transfer:
    import replicate

    client = replicate.Client(KEY, base_url=f"{base_url}/replicate")
    return lambda: client.files.create(file)


def replicate_download(base_url: str, file: Path, out: Path) -> Transfer:
    import replicate

    client = replicate.Client(KEY, base_url=f"{base_url}/replicate")
    url = f"{base_url}/files/{file.name}"

    def transfer() -> None:
        with out.open("wb") as target:
            target.write(replicate.helpers.FileOutput(url, client).read())

    return transfer


def replicate_download_streamed(base_url: str, file: Path, out: Path) -> Transfer:
    import replicate

    client = replicate.Client(KEY, base_url=f"{base_url}/replicate")
    url = f"{base_url}/files/{file.name}"

    def transfer() -> None:
        with out.open("wb") as target:
            for chunk in replicate.helpers.FileOutput(url, client):
                target.write(chunk)

    return transfer


def genai_client(base_url: str) -> Any:
    from google import genai

    options = genai.types.HttpOptions(base_url=f"{base_url}/genai")
    return genai.Client(api_key=KEY, http_options=options)


def genai_upload(base_url: str, file: Path, out: Path) -> Transfer:
    client = genai_client(base_url)
    return lambda: client.files.upload(file=file)


def genai_download(base_url: str, file: Path, out: Path) -> Transfer:
    client = genai_client(base_url)
    name = f"files/{file.name}"
    return lambda: out.write_bytes(client.files.download(file=name))


def genai_download_streamed(base_url: str, file: Path, out: Path) -> Transfer:
    client = genai_client(base_url)
    name = f"files/{file.name}"
    return lambda: client.files.download(file=name, destination=out)


# -- raw clients ------------------------------------------------------------------


def hash_only(base_url: str, file: Path, out: Path) -> Transfer:
    def transfer() -> None:
        with file.open("rb") as content:
            hashlib.file_digest(content, "sha256")

    return transfer


def http_client_upload(base_url: str, file: Path, out: Path) -> Transfer:
    host = base_url.removeprefix("http://")

    def transfer() -> None:
        connection = http.client.HTTPConnection(host, blocksize=BLOCK_BYTES)
        with file.open("rb") as content:
            length = {"Content-Length": str(file.stat().st_size)}
            connection.request("PUT", "/put", body=content, headers=length)
            assert connection.getresponse().status == 200
        connection.close()

    return transfer


def http_client_download(base_url: str, file: Path, out: Path) -> Transfer:
    host = base_url.removeprefix("http://")

    def transfer() -> None:
        connection = http.client.HTTPConnection(host)
        connection.request("GET", f"/files/{file.name}")
        response = connection.getresponse()
        with out.open("wb") as target:
            while block := response.read(BLOCK_BYTES):
                target.write(block)
        connection.close()

    return transfer


def httpx_upload(base_url: str, file: Path, out: Path) -> Transfer:
    import httpx

    client = httpx.Client(trust_env=False)

    def blocks(content: IO[bytes]) -> Iterator[bytes]:
        while block := content.read(BLOCK_BYTES):
            yield block

    def transfer() -> None:
        with file.open("rb") as content:
            length = {"Content-Length": str(file.stat().st_size)}
            url = f"{base_url}/put"
            client.put(url, content=blocks(content), headers=length).raise_for_status()

    return transfer


def httpx_download(base_url: str, file: Path, out: Path) -> Transfer:
    import httpx

    client = httpx.Client(trust_env=False)

    def transfer() -> None:
        with (
            client.stream("GET", f"{base_url}/files/{file.name}") as response,
            out.open("wb") as target,
        ):
            for block in response.iter_bytes():
                target.write(block)

    return transfer


def aiohttp_upload(base_url: str, file: Path, out: Path) -> Transfer:
    import aiohttp
    import anyio

    async def transfer() -> None:
        async with aiohttp.ClientSession() as session:
            with file.open("rb") as content:
                async with session.put(f"{base_url}/put", data=content) as response:
                    assert response.status == 200

    return lambda: anyio.run(transfer)


def aiohttp_download(base_url: str, file: Path, out: Path) -> Transfer:
    import aiohttp
    import anyio

    async def transfer() -> None:
        async with (
            aiohttp.ClientSession() as session,
            session.get(f"{base_url}/files/{file.name}") as response,
        ):
            with out.open("wb") as target:
                async for block in response.content.iter_any():
                    target.write(block)

    return lambda: anyio.run(transfer)


WAYS: dict[str, dict[str, Prepare]] = {
    "up": {
        "mediakit": our_upload,
        "mediakit, sending alone": our_sending,
        "fal-client": fal_upload,
        "openai, path": openai_upload,
        "openai, open file": openai_upload_opened,
        "replicate": replicate_upload,
        "google-genai": genai_upload,
        "httpx": httpx_upload,
        "aiohttp": aiohttp_upload,
        "http.client": http_client_upload,
        "hashlib, not sent": hash_only,
    },
    "down": {
        "mediakit": our_download,
        "openai, whole": openai_download,
        "openai, streamed": openai_download_streamed,
        "replicate, whole": replicate_download,
        "replicate, streamed": replicate_download_streamed,
        "google-genai, whole": genai_download,
        "google-genai, streamed": genai_download_streamed,
        "httpx": httpx_download,
        "aiohttp": aiohttp_download,
        "http.client": http_client_download,
    },
}


def package(way: str) -> str:
    """Return the package that a way is named after."""
    return way.partition(",")[0]


def run(direction: str, way: str, base_url: str, folder: Path) -> str:
    """Transfer a small file and then the large one; return the measurements as JSON."""
    warnings.simplefilter("ignore")  # the SDKs' deprecations do not matter here
    prepare = WAYS[direction][way]
    files = [folder / name for name in ("small.wav", "large.wav")]
    outs = [folder / "small.out", folder / "large.out"]
    small, large = (
        prepare(base_url, file, out) for file, out in zip(files, outs, strict=True)
    )
    small()
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts at what is used now
    idle_kib = _peak_kib()
    started_s = time.perf_counter()
    result = large()
    whole_s = time.perf_counter() - started_s
    took_s = result if isinstance(result, float) else whole_s
    memory_mib = (_peak_kib() - idle_kib) / 1024
    if direction == "down":
        assert outs[1].stat().st_size == files[1].stat().st_size
    is_library = package(way) not in ("http.client", "hashlib")
    name = package(way)
    if is_library:
        name += f" {version('jupyter-mediakit' if name == OURS else name)}"
    label = f"{name}{way.removeprefix(package(way))}"
    return json.dumps({"label": label, "took_s": took_s, "memory_mib": memory_mib})


def _peak_kib() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if "VmHWM" in line))


# -- the server -------------------------------------------------------------------


def serve(folder: Path) -> None:
    """Send and receive bytes as fast as the kernel can."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)
    print(listener.getsockname()[1], flush=True)
    while True:
        connection, _ = listener.accept()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(
            target=_converse, args=(connection, folder), daemon=True
        ).start()


def _converse(connection: socket.socket, folder: Path) -> None:
    """Respond to the requests of one connection."""
    block = memoryview(bytearray(BLOCK_BYTES))
    base_url = f"http://127.0.0.1:{connection.getsockname()[1]}"
    with connection, connection.makefile("rb") as source:
        while line := source.readline():
            method, path = line.decode().split()[:2]
            headers = dict(_headers(source))
            left_bytes = int(headers.get("content-length", 0))
            requested = re.search(r"/(?:files|videos)/(\w+\.wav)", path)
            if method == "GET" and requested is not None:
                file = folder / requested[1]
                connection.sendall(_head(file.stat().st_size))
                with file.open("rb") as content:
                    connection.sendfile(content)
                continue
            body = b""
            if "json" in headers.get("content-type", ""):
                body, left_bytes = source.read(left_bytes), 0
            while left_bytes:
                left_bytes -= source.readinto(block[: min(left_bytes, BLOCK_BYTES)])
            found = _response(base_url, path, body)
            response = json.dumps(found or {}).encode()
            status = "404 Not Found" if found is None else "200 OK"
            extra = _google_headers(base_url, headers)
            connection.sendall(_head(len(response), status, extra) + response)


def _headers(source: IO[bytes]) -> Iterator[tuple[str, str]]:
    while (line := source.readline().decode().strip()) != "":
        name, _, value = line.partition(":")
        yield name.lower(), value.strip()


def _head(size_bytes: int, status: str = "200 OK", extra: str = "") -> bytes:
    return (
        f"HTTP/1.1 {status}\r\nContent-Length: {size_bytes}\r\n"
        f'ETag: "x"\r\n{extra}\r\n'.encode()
    )


def _response(base_url: str, path: str, body: bytes) -> dict[str, object] | None:
    """Return the JSON response for a path; None for an unknown path."""
    if path.startswith("/fal/"):
        return {
            "token": "a-token",
            "token_type": "Bearer",
            "base_url": f"{base_url}/fal",
            "expires_at": "2999-01-01T00:00:00+00:00",
            "access_url": f"{base_url}/fal/file",
            "uploadId": "upload",
        }
    if path.startswith("/openai/"):
        return {"id": "file-1", "object": "file", "filename": "large.wav"}
    if path.startswith("/replicate/"):
        texts = dict.fromkeys(("id", "name", "content_type", "etag", "created_at"), "x")
        objects: dict[str, object] = {"checksums": {}, "metadata": {}, "urls": {}}
        return {**texts, **objects, "size": SIZE_BYTES, "expires_at": None}
    if path.startswith("/genai/"):
        return {"file": {"name": "files/x"}}
    if path == "/put":
        return {}
    if path == "/v1/media/uploads":
        return _grant(base_url, json.loads(body))
    return _job(base_url, path) if path.startswith("/v1/media/jobs/") else None


def _google_headers(base_url: str, headers: dict[str, str]) -> str:
    """Return the headers of Google's resumable uploads."""
    command = headers.get("x-goog-upload-command", "")
    if command == "start":
        return f"x-goog-upload-url: {base_url}/genai/upload\r\n"
    status = "final" if "finalize" in command else "active"
    return f"x-goog-upload-status: {status}\r\n" if command else ""


def _grant(base_url: str, file: dict[str, object]) -> dict[str, object]:
    headers = {
        "Content-Type": str(file["content_type"]),
        "Content-Length": str(file["size_bytes"]),
    }
    url = f"{base_url}/a"
    return {"upload_url": f"{base_url}/put", "headers": headers, "url": url}


def _job(base_url: str, path: str) -> dict[str, object]:
    audio = {"url": f"{base_url}/files/{path.rpartition('-')[2]}"}
    return {
        "id": path.rpartition("/")[2],
        "status": "completed",
        "output": {"media_type": "audio", "audio": audio},
        "billing": {"state": "settled", "charge_micro_usd": 0},
    }


# -- the table --------------------------------------------------------------------


@dataclass
class Measured:
    """The measurements of one way, one value per round."""

    way: str
    label: str = ""
    took_s: list[float] = field(default_factory=list)
    memory_mib: list[float] = field(default_factory=list)


def write_sound(file: Path, size_bytes: int) -> None:
    with wave.open(str(file), "wb") as out:
        out.setnchannels(2)
        out.setsampwidth(2)
        out.setframerate(48_000)
        block = os.urandom(BLOCK_BYTES)
        for start_bytes in range(0, size_bytes, BLOCK_BYTES):
            out.writeframesraw(block[: size_bytes - start_bytes])


def memory_folder() -> str | None:
    """Return a folder in memory with enough space, so that no disk is measured."""
    shared = Path("/dev/shm")
    if shared.is_dir() and shutil.disk_usage(shared).free > 3 * SIZE_BYTES:
        return str(shared)
    return None


@contextmanager
def file_server(folder: str) -> Iterator[str]:
    command = [sys.executable, __file__, "serve", folder]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        finally:
            process.kill()


def measure(
    python: str, direction: str, into: Measured, base_url: str, folder: Path
) -> None:
    """Transfer once in its own process, and add the measurements."""
    command = [python, __file__, direction, into.way, base_url, str(folder)]
    report = json.loads(subprocess.check_output(command))
    into.label = report["label"]
    into.took_s.append(report["took_s"])
    into.memory_mib.append(report["memory_mib"])
    for path in [*folder.glob("*.out*"), folder / "home"]:
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


def show(direction: str, all_measured: list[Measured]) -> list[str]:
    """Print the table of one direction; return the rows that miss a limit."""
    missed = []
    ours = next(each for each in all_measured if each.way == OURS)
    # An SDK sends without a hash; our hash is what avoids sending the same bytes twice.
    compared = next(each for each in all_measured if each.way == COMPARED[direction])
    for each in all_measured:
        speeds = [SIZE_BYTES / took_s / 1e6 for took_s in each.took_s]
        rounds = zip(each.took_s, compared.took_s, strict=True)
        ratio = statistics.median(theirs_s / ours_s for theirs_s, ours_s in rounds)
        line = (
            f"{direction:4} {each.label:30} {statistics.median(speeds):6.0f} MB/s"
            f" ({min(speeds):.0f} to {max(speeds):.0f}),"
            f" {max(each.memory_mib):7.1f} MiB"
        )
        is_missed = False
        if each is ours:
            line += f" (at most {MAX_MEMORY_MIB:.0f})"
            is_missed = max(each.memory_mib) > MAX_MEMORY_MIB
        else:
            line += f", ours / this {ratio:.2f}"
        if package(each.way) in SDKS:
            line += f" (at least {MIN_SPEED})"
            is_missed = ratio < MIN_SPEED
        print(f"  {line}")
        missed += [line] if is_missed else []
    return missed


def main() -> int:
    """Measure all ways in turn, print the table, and return the exit status."""
    other_python = sdk_python() if SDKS else sys.executable
    left_out = set(ALL_SDKS) - set(SDKS)
    found = {
        direction: [Measured(way) for way in ways if package(way) not in left_out]
        for direction, ways in WAYS.items()
    }
    with tempfile.TemporaryDirectory(dir=memory_folder()) as name:
        folder = Path(name)
        write_sound(folder / "small.wav", SMALL_BYTES)
        write_sound(folder / "large.wav", SIZE_BYTES)
        with file_server(name) as base_url:
            for _ in range(ROUNDS):
                for direction, all_measured in found.items():
                    for each in all_measured:
                        is_sdk = package(each.way) in SDKS
                        python = other_python if is_sdk else sys.executable
                        measure(python, direction, each, base_url, folder)
    print(
        f"{SIZE_BYTES / 1e6:,.0f} MB, {ROUNDS} rounds, Python {sys.version.split()[0]},"
        f" {os.cpu_count()} cores; median speed, most memory above idle"
    )
    missed = [line for each in found for line in show(each, found[each])]
    print("\n  ".join(["Limits missed:", *missed]) if missed else "All limits hold.")
    return 1 if missed else 0


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["serve", folder]:
            serve(Path(folder))
        case [direction, way, base_url, folder]:
            print(run(direction, way, base_url, Path(folder)))
        case _:
            raise SystemExit(main())
