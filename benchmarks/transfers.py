"""One gigabyte up and down beside bare `http.client` with blocks of 1 MiB.

Ours is the whole road: `upload()` of a sound, with its hash, its grant and the history;
`download()` of a job's result, with its hash and its sidecar. An upload is hashed
before it is sent, so two ratios are shown: of the sending alone, and of hashing and
sending beside `hashlib.file_digest` and then `http.client`. To stay: 0.8 or more of
`http.client` in both directions, and less than 8 MB of memory above idle.
"""

from __future__ import annotations

import hashlib
import http.client
import importlib.metadata as metadata
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import wave
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, Any

import anyio

SIZE_BYTES = 1_000_000_000
SMALL_BYTES = 1_000_000
ROUNDS = 7
RATIO, MEMORY_LIMIT_MB = 0.8, 8.0
BLOCK_BYTES = 1 << 20
JOB = "media_00000000-0000-4000-8000-000000000000"
Seconds = tuple[float, float]
"""All that a transfer took, and how much of it the bytes were under way."""


# -- the ways ---------------------------------------------------------------------


def plain_up(port: int, file: Path, folder: Path) -> Seconds:
    started_s = time.perf_counter()
    with file.open("rb") as content:
        hashlib.file_digest(content, "sha256")
    hashed_s = time.perf_counter()
    connection = http.client.HTTPConnection("127.0.0.1", port, blocksize=BLOCK_BYTES)
    with file.open("rb") as content:
        length = {"Content-Length": str(file.stat().st_size)}
        connection.request("PUT", "/put", body=content, headers=length)
        assert connection.getresponse().status == 200
    connection.close()
    return time.perf_counter() - started_s, time.perf_counter() - hashed_s


def plain_down(port: int, file: Path, folder: Path) -> Seconds:
    return _plain_down(port, file, folder, None)


def hashed_down(port: int, file: Path, folder: Path) -> Seconds:
    return _plain_down(port, file, folder, hashlib.sha256())


def _plain_down(port: int, file: Path, folder: Path, digest: Any) -> Seconds:
    started_s = time.perf_counter()
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request("GET", f"/files/{file.name}")
    answer = connection.getresponse()
    with (folder / "out").open("wb") as out:
        while block := answer.read(BLOCK_BYTES):
            out.write(block)
            if digest is not None:
                digest.update(block)
    connection.close()
    took_s = time.perf_counter() - started_s
    return took_s, took_s


def httpx_up(port: int, file: Path, folder: Path) -> Seconds:
    import httpx

    def blocks(content: IO[bytes]) -> Iterator[bytes]:
        while block := content.read(BLOCK_BYTES):
            yield block

    started_s = time.perf_counter()
    with httpx.Client(trust_env=False) as client, file.open("rb") as content:
        length = {"Content-Length": str(file.stat().st_size)}
        url = f"http://127.0.0.1:{port}/put"
        answer = client.put(url, content=blocks(content), headers=length)
        assert answer.status_code == 200
    took_s = time.perf_counter() - started_s
    return took_s, took_s


def httpx_down(port: int, file: Path, folder: Path) -> Seconds:
    import httpx

    started_s = time.perf_counter()
    url = f"http://127.0.0.1:{port}/files/{file.name}"
    with (
        httpx.Client(trust_env=False) as client,
        client.stream("GET", url) as answer,
        (folder / "out").open("wb") as out,
    ):
        for block in answer.iter_bytes():
            out.write(block)
    took_s = time.perf_counter() - started_s
    return took_s, took_s


def whole_down(port: int, file: Path, folder: Path) -> Seconds:
    """Do what several SDKs do: read the answer, then write it."""
    import httpx

    started_s = time.perf_counter()
    url = f"http://127.0.0.1:{port}/files/{file.name}"
    with httpx.Client(trust_env=False) as client:
        (folder / "out").write_bytes(client.get(url).content)
    took_s = time.perf_counter() - started_s
    return took_s, took_s


def aiohttp_up(port: int, file: Path, folder: Path) -> Seconds:
    return anyio.run(_aiohttp_up, port, file)


async def _aiohttp_up(port: int, file: Path) -> Seconds:
    import aiohttp

    started_s = time.perf_counter()
    async with aiohttp.ClientSession() as session:
        with file.open("rb") as content:
            url = f"http://127.0.0.1:{port}/put"
            async with session.put(url, data=content) as answer:
                assert answer.status == 200
    took_s = time.perf_counter() - started_s
    return took_s, took_s


def aiohttp_down(port: int, file: Path, folder: Path) -> Seconds:
    return anyio.run(_aiohttp_down, port, file, folder)


async def _aiohttp_down(port: int, file: Path, folder: Path) -> Seconds:
    import aiohttp

    started_s = time.perf_counter()
    async with aiohttp.ClientSession() as session:
        url = f"http://127.0.0.1:{port}/files/{file.name}"
        async with session.get(url) as answer:
            with (folder / "out").open("wb") as out:
                async for block in answer.content.iter_any():
                    out.write(block)
    took_s = time.perf_counter() - started_s
    return took_s, took_s


def our_up(port: int, file: Path, folder: Path) -> Seconds:
    return anyio.run(_our_up, port, file, folder)


async def _our_up(port: int, file: Path, folder: Path) -> Seconds:
    client, steps_s = _client(port, folder / f"{file.name}.history")
    started_s = time.perf_counter()
    await client.upload(file)
    took_s = time.perf_counter() - started_s
    await client.aclose()
    return took_s, steps_s[-1] - steps_s[0]


def our_down(port: int, file: Path, folder: Path) -> Seconds:
    return anyio.run(_our_down, port, file, folder)


async def _our_down(port: int, file: Path, folder: Path) -> Seconds:
    client, _ = _client(port, folder / "down.history")
    job = await client.job(f"{JOB}-{file.name}")
    started_s = time.perf_counter()
    await job.download(folder / "out", overwrite=True)
    took_s = time.perf_counter() - started_s
    await client.aclose()
    return took_s, took_s


def _client(port: int, history: Path) -> tuple[Any, list[float]]:
    from mediakit.client import AsyncClient, Service
    from mediakit.history import History

    service = Service(f"http://127.0.0.1:{port}", "key-0123456789")
    client = AsyncClient(service, history=History(history))
    steps_s: list[float] = []
    client.on_transfer(lambda _: steps_s.append(time.perf_counter()))
    return client, steps_s


WAYS: dict[str, Callable[[int, Path, Path], Seconds]] = {
    "up http.client": plain_up,
    "up ours": our_up,
    "up httpx": httpx_up,
    "up aiohttp": aiohttp_up,
    "down http.client": plain_down,
    "down http.client, hashed": hashed_down,
    "down ours": our_down,
    "down httpx": httpx_down,
    "down httpx, read whole": whole_down,
    "down aiohttp": aiohttp_down,
}


def measured(way: str, port: int, folder: Path) -> str:
    """Move a little, then much; return seconds, and megabytes above idle."""
    WAYS[way](port, folder / "small.wav", folder)
    Path("/proc/self/clear_refs").write_text("5")
    idle_kb = _peak_kb()
    took_s, moving_s = WAYS[way](port, folder / "large.wav", folder)
    return json.dumps([took_s, moving_s, (_peak_kb() - idle_kb) / 1_000])


def _peak_kb() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if "VmHWM" in line))


# -- the other side ---------------------------------------------------------------


def serve(folder: Path) -> None:
    """Give and take bytes as quickly as the kernel moves them."""
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    while True:
        near, _ = listener.accept()
        threading.Thread(target=_talk, args=(near, folder), daemon=True).start()


def _talk(near: socket.socket, folder: Path) -> None:
    room = memoryview(bytearray(BLOCK_BYTES))
    base = f"http://127.0.0.1:{near.getsockname()[1]}"
    with near, near.makefile("rb") as source:
        while line := source.readline():
            method, path = line.decode().split()[:2]
            headers = dict(_header(source))
            left = int(headers.get("content-length", 0))
            if method == "GET" and path.startswith("/files/"):
                file = folder / path.rpartition("/")[2]
                near.sendall(_head(file.stat().st_size))
                with file.open("rb") as content:
                    near.sendfile(content)
            elif method == "PUT":
                while left:
                    left -= source.readinto(room[: min(left, BLOCK_BYTES)])
                near.sendall(_head(0))
            else:
                asked = json.loads(source.read(left) or b"{}")
                answer = json.dumps(_answer(base, path, asked)).encode()
                near.sendall(_head(len(answer)) + answer)


def _header(source: IO[bytes]) -> Iterator[tuple[str, str]]:
    while (line := source.readline().decode().strip()) != "":
        name, _, value = line.partition(":")
        yield name.lower(), value.strip()


def _head(size_bytes: int) -> bytes:
    return (
        f'HTTP/1.1 200 OK\r\nContent-Length: {size_bytes}\r\nETag: "x"\r\n\r\n'.encode()
    )


def _answer(base: str, path: str, asked: dict[str, object]) -> dict[str, object]:
    if "size_bytes" in asked:
        headers = {
            "Content-Type": str(asked["content_type"]),
            "Content-Length": str(asked["size_bytes"]),
        }
        return {"upload_url": f"{base}/put", "headers": headers, "url": f"{base}/a"}
    name = path.rpartition("-")[2]
    return {
        "id": path.rpartition("/")[2],
        "status": "completed",
        "output": {"media_type": "audio", "audio": {"url": f"{base}/files/{name}"}},
        "billing": {"state": "settled", "charge_micro_usd": 0},
    }


# -- the table --------------------------------------------------------------------


def sound(file: Path, size_bytes: int) -> None:
    with wave.open(str(file), "wb") as out:
        out.setnchannels(2)
        out.setsampwidth(2)
        out.setframerate(48_000)
        block = os.urandom(BLOCK_BYTES)
        for _ in range(size_bytes // BLOCK_BYTES):
            out.writeframesraw(block)


def in_memory() -> str | None:
    """Return a folder in memory that has room, so that no disk is measured."""
    shared = Path("/dev/shm")
    if shared.is_dir() and shutil.disk_usage(shared).free > 3 * SIZE_BYTES:
        return str(shared)
    return None


def main() -> int:
    """Measure in turn, print the table, and tell whether the limits hold."""
    runs: dict[str, list[list[float]]] = {way: [] for way in WAYS}
    with tempfile.TemporaryDirectory(dir=in_memory()) as name:
        folder = Path(name)
        sound(folder / "small.wav", SMALL_BYTES)
        sound(folder / "large.wav", SIZE_BYTES)
        command = [sys.executable, __file__]
        server = subprocess.Popen(
            [*command, "serve", name], stdout=subprocess.PIPE, text=True
        )
        assert server.stdout is not None
        port = server.stdout.readline().strip()
        try:
            for _ in range(ROUNDS):
                for way, found in runs.items():
                    said = subprocess.check_output([*command, way, port, name])
                    found.append(json.loads(said))
                    for file in folder.glob("*.history*"):
                        file.unlink()
        finally:
            server.kill()
            server.wait()
    return 0 if shown(runs) else 1


def shown(runs: dict[str, list[list[float]]]) -> bool:
    """Print the table; tell whether the limits hold."""
    versions = [f"{each} {metadata.version(each)}" for each in ("httpx", "aiohttp")]
    print(
        f"1 GB, medians of {ROUNDS} rounds, Python {sys.version.split()[0]}, ", end=""
    )
    print(f"{', '.join(versions)}, {os.cpu_count()} cores")
    held = True
    for way, found in runs.items():
        whole, moving, peak_mb = zip(*found, strict=True)
        plain = runs[f"{way.split()[0]} http.client"]
        ratio = _ratio([x[1] for x in plain], moving)
        speeds = [SIZE_BYTES / s / 1e6 for s in moving]
        print(f"  {way:26} {statistics.median(speeds):6.0f} MB/s ", end="")
        print(f"({min(speeds):.0f} to {max(speeds):.0f}), ", end="")
        print(f"{ratio:4.2f} of http.client, ", end="")
        print(f"{statistics.median(peak_mb):6.1f} MB", end="")
        if way == "up ours":
            print(f", with the hash {_ratio([x[0] for x in plain], whole):.2f}", end="")
        print()
        if way.endswith("ours"):
            held &= ratio >= RATIO and max(peak_mb) < MEMORY_LIMIT_MB
    return held


def _ratio(plain_s: Iterable[float], ours_s: Iterable[float]) -> float:
    return statistics.median(p / o for p, o in zip(plain_s, ours_s, strict=True))


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["serve", folder]:
            serve(Path(folder))
        case [way, port, folder]:
            print(measured(way, int(port), Path(folder)))
        case _:
            raise SystemExit(main())
