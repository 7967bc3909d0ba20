"""Submissions and job reads per second, compared with a mock server.

Both serve 50 keep-alive connections, on this machine, in turn. The sandbox checks a
key, parses, checks and prices a body, looks up its idempotency key, holds the price and
writes the job to disk. Prism responds from the sandbox's `/openapi.json` and stores
nothing.

Limits: at least 1.5 times Prism's submissions and 2.5 times its reads. Prism is
installed with npm into a temporary folder; without npm, the sandbox is measured alone,
without limits.
"""

from __future__ import annotations

import json
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx

ROUNDS = 5
SECONDS = 3.0
WARM_UP_SECONDS = 1.0
CONNECTIONS = 50
LIMITS = {"submits": 1.5, "reads": 2.5}
NPM = "npm"
MOCK = "@stoplight/prism-cli"
START_LIMIT_S = 60.0
API_KEY = "a-key-for-the-benchmark"
BODY = {"prompt": "a kite over dunes", "duration": 3}
SANDBOX_OPTIONS = (
    "--concurrency=0",
    "--queue-size=100000000",
    "--balance-usd=100000000",
    "--json",
)
LOAD = Path(__file__).parent / "load" / "keep_alive.py"


@contextmanager
def sandbox(folder: Path) -> Iterator[dict[str, Any]]:
    command = [sys.executable, "-m", "mediakit.sandbox", *SANDBOX_OPTIONS]
    command += ["--api-key", API_KEY, "--data-dir", str(folder / "data")]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            yield json.loads(process.stdout.readline())
        finally:
            process.terminate()


def install(folder: Path) -> Path | None:
    """Install the mock server; None if that is not possible."""
    npm = shutil.which(NPM)
    if npm is None:
        print(f"npm is needed to install {MOCK}, but is not installed here.")
        return None
    options = ("--no-audit", "--no-fund", "--loglevel=error", "--prefix", str(folder))
    if subprocess.run([npm, "install", *options, MOCK], check=False).returncode:
        print(f"npm could not install {MOCK}, so there is nothing to compare with.")
        return None
    return folder / "node_modules" / ".bin" / "prism"


@contextmanager
def mock(program: Path, document: Path) -> Iterator[str]:
    port = free_port()
    command = [str(program), "mock", str(document), "--port", str(port)]
    command += ["--verboseLevel", "silent"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        base_url = f"http://127.0.0.1:{port}"
        try:
            await_answer(f"{base_url}/billing/balance")
            yield base_url
        finally:
            process.terminate()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def await_answer(url: str) -> None:
    pause, deadline_s = threading.Event(), time.monotonic() + START_LIMIT_S
    while time.monotonic() < deadline_s:
        try:
            httpx.get(url, headers={"X-API-Key": API_KEY}).raise_for_status()
        except httpx.TransportError:
            pause.wait(0.1)
        else:
            return
    raise SystemExit(f"{MOCK} did not answer within {START_LIMIT_S:g} s.")


def order(url: str, *, submit: bool, seconds: float) -> dict[str, Any]:
    headers = {"X-API-Key": API_KEY}
    if submit:
        headers["Idempotency-Key"] = "{key}"
    return {
        "url": url,
        "method": "POST" if submit else "GET",
        "headers": headers,
        "body": json.dumps(BODY) if submit else None,
        "connections": CONNECTIONS,
        "seconds": seconds,
    }


def loaded(what: dict[str, Any]) -> tuple[float, float]:
    """Return responses per second, and the client's share of a core."""
    done = subprocess.run(
        [sys.executable, str(LOAD)],
        input=json.dumps(what),
        capture_output=True,
        check=True,
        text=True,
    )
    found = json.loads(done.stdout)
    if set(found["statuses"]) != {"200"}:
        raise SystemExit(f"{what['url']} answered {found['statuses']}.")
    rate = found["statuses"]["200"] / found["seconds"]
    return rate, found["cpu_seconds"] / found["seconds"]


def measured(urls: dict[str, str]) -> dict[str, list[tuple[float, float]]]:
    """Load each URL in turn, several rounds, after a warm-up."""
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in urls}
    for number in range(ROUNDS + 1):
        for name, url in urls.items():
            seconds = SECONDS if number else WARM_UP_SECONDS
            submit = name.startswith("submits")
            rates = loaded(order(url, submit=submit, seconds=seconds))
            if number:
                found[name].append(rates)
    return found


def version(program: Path) -> str:
    asked = [str(program), "--version"]
    return subprocess.run(asked, capture_output=True, check=True, text=True).stdout


def show(found: dict[str, list[tuple[float, float]]]) -> dict[str, float]:
    """Print the table and return the median rates."""
    medians = {}
    for name, rates in found.items():
        values = [rate for rate, _ in rates]
        asking = max(share for _, share in rates)
        medians[name] = statistics.median(values)
        print(
            f"  {name:16} {medians[name]:8.0f} /s ({min(values):.0f} to "
            f"{max(values):.0f}); asking took at most {asking:.0%} of a core"
        )
    return medians


def keeps_limits(medians: dict[str, float]) -> bool:
    """Print how the sandbox compares, and return whether it keeps the limits."""
    kept = True
    for what, limit in LIMITS.items():
        ratio = medians[f"{what}, ours"] / medians[f"{what}, mock"]
        print(f"  {what}, ours / mock: {ratio:.2f} (at least {limit})")
        kept = kept and ratio >= limit
    return kept


def main() -> int:
    """Measure in turn, print the table, and return the exit status."""
    with (
        tempfile.TemporaryDirectory(prefix="mediakit-benchmark-") as name,
        sandbox(Path(name)) as ours,
        ExitStack() as mocks,
    ):
        folder, base_url = Path(name), ours["base_url"]
        path = f"/v1/media/{ours['functions']['text-to-video']}"
        headers = {"X-API-Key": API_KEY}
        job = httpx.post(f"{base_url}{path}", json=BODY, headers=headers).json()
        services, mock_version = {"ours": base_url}, "none"
        program = install(folder)
        if program is not None:
            document = folder / "openapi.json"
            document.write_bytes(httpx.get(f"{base_url}/openapi.json").content)
            mock_url = mocks.enter_context(mock(program, document))
            services = {"mock": mock_url, **services}
            mock_version = version(program).strip()
        paths = {"submits": path, "reads": f"/v1/media/jobs/{job['id']}"}
        urls = {
            f"{what}, {whose}": f"{url}{asked}"
            for what, asked in paths.items()
            for whose, url in services.items()
        }
        print(
            f"{CONNECTIONS} connections, {ROUNDS} rounds of {SECONDS:g} s, "
            f"{MOCK} {mock_version}"
        )
        medians = show(measured(urls))
        return int("mock" in services and not keeps_limits(medians))


if __name__ == "__main__":
    raise SystemExit(main())
