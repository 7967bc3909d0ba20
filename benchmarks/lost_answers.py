"""What one submission makes when its response is lost, compared with four other SDKs.

A small server makes a job for every submission, except that a known key finds its job
again, as specified (4.3); then the first responses fail. The others are installed as
published, and run with their defaults; the timeout of all is two seconds, and an SDK
that is not done within the limit counts as still trying.

Limit: mediakit never makes more than one job, and makes one whenever the server allows
it.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).parents[1]
PEERS = ROOT / "build" / "bench-peers"
PACKAGES = {
    "fal": "fal-client",
    "openai": "openai",
    "replicate": "replicate",
    "runwayml": "runwayml",
}
PROGRAM = Path(__file__).parent / "load" / "submit_once.py"
LIMIT_S = 30.0
AT_ONCE = 4
SLOW_BYTES_PER_S = 400
PAGE = b"<html><h1>Bad gateway</h1></html>"

Writer = asyncio.StreamWriter


class Server:
    """Makes jobs, and responds with the fault of its row.

    Args:
        row: The fault.
    """

    def __init__(self, row: Row) -> None:
        self._row = row
        self._jobs: dict[str, str] = {}
        self._first_s = 0.0
        self.posts_n = 0

    @property
    def jobs_n(self) -> int:
        return len(self._jobs)

    async def connected(self, reader: asyncio.StreamReader, writer: Writer) -> None:
        try:
            while await self._exchange(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: Writer) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        request, *lines = head.splitlines()
        fields = (line.partition(":") for line in lines if line)
        headers = {name.lower(): value.strip() for name, _, value in fields}
        await reader.readexactly(int(headers.get("content-length", 0)))
        method, path, _ = request.split()
        if method != "POST":
            writer.write(whole(200, json.dumps(read(path)).encode()))
            return True
        if self.posts_n == 0:
            self._first_s = time.monotonic()
        self.posts_n += 1
        return await self._submit(path, headers.get("idempotency-key"), writer)

    async def _submit(self, path: str, key: str | None, writer: Writer) -> bool:
        row = self._row
        if row.refuses(self.posts_n, time.monotonic() - self._first_s):
            body = refusal(path, row.status)
            writer.write(whole(row.status, body, row.retry_after_s))
            return True
        goes_wrong = self.posts_n <= row.times
        if goes_wrong and row.lose is drop and not row.made:
            return False
        job = self._jobs.setdefault(key or f"{self.posts_n}", f"job_{self.posts_n}")
        answer = whole(200 if "media" in path else 201, made(path, job))
        if goes_wrong and row.lose is not None:
            return await row.lose(writer, answer)
        writer.write(answer)
        return True


@dataclass(frozen=True)
class Row:
    """A fault of the first submissions.

    Args:
        name: The fault in words.
        lose: What happens to the response for a job that was made.
        times: The number of responses that it affects.
        made: Whether the job is made before the fault.
        status: The status sent instead of making a job; 0 for none.
        retry_after_s: The `Retry-After` of such a response.
        runs: How often the same program is run.
        jobs: The expected number of jobs.
    """

    name: str
    lose: Callable[[Writer, bytes], Awaitable[bool]] | None = None
    times: int = 1
    made: bool = True
    status: int = 0
    retry_after_s: int | None = None
    runs: int = 1
    jobs: int = 1

    def refuses(self, posts_n: int, since_s: float) -> bool:
        if self.retry_after_s is not None:
            return since_s < self.retry_after_s
        return bool(self.status) and posts_n <= self.times


async def drop(writer: Writer, answer: bytes) -> bool:
    return False


async def hang(writer: Writer, answer: bytes) -> bool:
    await asyncio.sleep(LIMIT_S)
    return False


async def cut(writer: Writer, answer: bytes) -> bool:
    writer.write(answer[: -len(answer) // 4])
    await writer.drain()
    return False


async def trickle(writer: Writer, answer: bytes) -> bool:
    for byte in answer:
        writer.write(bytes([byte]))
        await asyncio.sleep(1 / SLOW_BYTES_PER_S)
    return True


def gateway(status: int) -> Callable[[Writer, bytes], Awaitable[bool]]:
    async def answer_page(writer: Writer, answer: bytes) -> bool:
        writer.write(whole(status, PAGE, kind="text/html"))
        return True

    return answer_page


ROWS = (
    Row("dropped before the job is made", drop, made=False),
    Row("dropped after the job is made", drop),
    Row("dropped after, twice", drop, times=2),
    Row("no answer in time, twice", hang, times=2),
    *(Row(f"{n} of a gateway, after", gateway(n)) for n in (500, 502, 503, 504)),
    Row("JSON cut off", cut),
    Row("slow bytes", trickle),
    Row("409", status=409, jobs=0),
    Row("429 for 2 s", status=429, retry_after_s=2),
    Row("429 for 3,600 s", status=429, retry_after_s=3_600, jobs=0),
    Row("nothing, and the program is run again", runs=2),
)


def whole(
    status: int,
    body: bytes,
    retry_after_s: int | None = None,
    kind: str = "application/json",
) -> bytes:
    head = [f"HTTP/1.1 {status} Some", f"Content-Type: {kind}"]
    head.append(f"Content-Length: {len(body)}")
    if retry_after_s is not None:
        head.append(f"Retry-After: {retry_after_s}")
    return "\r\n".join([*head, "", ""]).encode() + body


def made(path: str, job: str) -> bytes:
    """Return a job in the format of the SDK that uses this path."""
    urls = {name: f"http://127.0.0.1:9/{name}" for name in ("status", "response")}
    shown = {
        "id": f"media_{job}" if path.startswith("/v1/media/") else job,
        "status": "starting" if path == "/v1/predictions" else "queued",
        "request_id": job,
        "status_url": urls["status"],
        "response_url": urls["response"],
        "cancel_url": urls["status"],
        "object": "video",
        "created_at": "2026-01-01T00:00:00Z" if path == "/v1/predictions" else 1,
        "model": "any",
        "version": "0" * 64,
        "input": {},
        "urls": {"get": urls["status"], "cancel": urls["status"]},
    }
    return json.dumps(shown).encode()


def refusal(path: str, status: int) -> bytes:
    """Return a rejection: a failed job if a limit makes one, else `{message}`."""
    if path.startswith("/v1/media/") and status == 429:
        error = {"code": "rate_limited", "message": "The queue is full."}
        failed = {"id": "media_none", "status": "failed", "error": error}
        return json.dumps(failed).encode()
    return json.dumps({"message": "No.", "detail": "No.", "error": "No."}).encode()


def read(path: str) -> dict[str, object]:
    if path.endswith("/balance"):
        return {"balance_micro_usd": 1_000_000_000}
    return {"id": path.rsplit("/", 1)[1], "status": "queued", "billing": None}


@dataclass
class Cell:
    """The result of one row with one SDK."""

    jobs_n: int = 0
    posts_n: int = 0
    outcomes: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def __str__(self) -> str:
        jobs = f"**{self.jobs_n}**" if self.jobs_n > 1 else str(self.jobs_n)
        return f"{jobs} ({self.posts_n}) {self.outcomes[-1]}, {self.seconds:.1f} s"


async def submitted(sdk: str, row: Row, turns: asyncio.Semaphore) -> Cell:
    """Run an SDK's program with its own server."""
    server = Server(row)
    async with (
        turns,
        await asyncio.start_server(server.connected, "127.0.0.1") as listener,
    ):
        port = listener.sockets[0].getsockname()[1]
        cell = Cell()
        with tempfile.TemporaryDirectory(prefix="mediakit-benchmark-") as folder:
            for _ in range(row.runs):
                outcome, seconds = await run(sdk, f"http://127.0.0.1:{port}", folder)
                cell.outcomes.append(outcome)
                cell.seconds += seconds
        cell.jobs_n, cell.posts_n = server.jobs_n, server.posts_n
        return cell


async def run(sdk: str, base_url: str, folder: str) -> tuple[str, float]:
    python = sys.executable if sdk == "mediakit" else str(PEERS / "bin" / "python")
    process = await asyncio.create_subprocess_exec(
        python, str(PROGRAM), sdk, base_url, folder, stdout=subprocess.PIPE
    )
    try:
        said, _ = await asyncio.wait_for(process.communicate(), LIMIT_S)
    except TimeoutError:
        process.kill()
        await process.wait()
        return "still trying", LIMIT_S
    found = json.loads(said)
    return found["outcome"], found["seconds"]


def install() -> dict[str, str]:
    """Install the others as published; return all versions."""
    ours = {"mediakit": version("jupyter-mediakit")}
    if not PACKAGES:
        return ours
    python = PEERS / "bin" / "python"
    if not python.exists():
        venv.create(PEERS, with_pip=True)
    quiet = ["--quiet", "--disable-pip-version-check"]
    pip = [str(python), "-m", "pip", "install", *quiet, *PACKAGES.values()]
    subprocess.run(pip, check=True)
    asked = "import sys, importlib.metadata as m; print(*map(m.version, sys.argv[1:]))"
    done = subprocess.run(
        [str(python), "-c", asked, *PACKAGES.values()], check=True, capture_output=True
    )
    found = zip(PACKAGES, done.stdout.decode().split(), strict=True)
    return {**ours, **dict(found)}


async def measured(sdks: list[str]) -> dict[tuple[str, str], Cell]:
    turns = asyncio.Semaphore(AT_ONCE)
    wanted = [(row, sdk) for row in ROWS for sdk in sdks]
    cells = await asyncio.gather(*(submitted(sdk, row, turns) for row, sdk in wanted))
    return {(row.name, sdk): c for (row, sdk), c in zip(wanted, cells, strict=True)}


def main() -> int:
    """Print the table, and return the exit status."""
    versions = install()
    sdks = list(versions)
    with asyncio.Runner() as runner:
        cells = runner.run(measured(sdks))
    print("Jobs made (requests sent) outcome, seconds:\n")
    titles = ["what goes wrong", *(f"{sdk} {versions[sdk]}" for sdk in sdks)]
    for line in (titles, ["---"] * len(titles)):
        print(f"| {' | '.join(line)} |")
    for row in ROWS:
        shown = [str(cells[row.name, sdk]) for sdk in sdks]
        print(f"| {' | '.join([row.name, *shown])} |")
    missed = [r.name for r in ROWS if cells[r.name, "mediakit"].jobs_n != r.jobs]
    print(f"\nmediakit made a wrong number of jobs at: {', '.join(missed) or 'none'}")
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
