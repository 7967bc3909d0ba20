"""A sandbox over real HTTP, and a small client that only these tests use."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from io import BytesIO
from pathlib import Path
from typing import Any

import httpx
import pytest
from PIL import Image

from mediakit.sandbox.server.running import RunningSandbox, Sandbox, start
from tests.support.clients import http_client
from tests.support.sandbox.admin import AdminClient
from tests.support.sandbox.receivers import Receiver, receiving

# A square costs what any other shape does, and is drawn in half the time.
KITE: dict[str, Any] = {
    "prompt": "a kite over dunes",
    "duration": 3,
    "aspect_ratio": "1:1",
}

StartSandbox = Callable[..., "Api"]


class Api:
    """The interface of one running sandbox, as any HTTP client sees it."""

    def __init__(self, running: RunningSandbox) -> None:
        self.running = running
        self.http = http_client(running.base_url, running.api_key)

    def path(self, kind: str) -> str:
        return f"/v1/media/{self.running.functions[kind]}"

    def post(self, kind: str, body: object, key: str | None = None) -> httpx.Response:
        headers = {} if key is None else {"Idempotency-Key": key}
        return self.http.post(self.path(kind), json=body, headers=headers)

    def submit(self, kind: str, body: object, key: str | None = None) -> dict[str, Any]:
        answer = self.post(kind, body, key)
        assert answer.status_code == 200, answer.text
        job: dict[str, Any] = answer.json()
        return job

    def job(self, job_id: str) -> dict[str, Any]:
        answer = self.http.get(f"/v1/media/jobs/{job_id}")
        assert answer.status_code == 200, answer.text
        job: dict[str, Any] = answer.json()
        return job

    def until(
        self, job_id: str, holds: Callable[[dict[str, Any]], bool]
    ) -> dict[str, Any]:
        while not holds(job := self.job(job_id)):
            time.sleep(0.02)
        return job

    def ended(self, job_id: str) -> dict[str, Any]:
        return self.until(job_id, lambda job: job["status"] in ("completed", "failed"))

    def settled(self, job_id: str) -> dict[str, Any]:
        return self.until(
            job_id, lambda job: (job["billing"] or {}).get("state") == "settled"
        )

    def balance(self) -> int:
        amount: int = self.http.get("/billing/balance").json()["balance_micro_usd"]
        return amount

    def grant(self, content_type: str, size_bytes: int) -> dict[str, Any]:
        asked = {"content_type": content_type, "size_bytes": size_bytes}
        answer = self.http.post("/v1/media/uploads", json=asked)
        assert answer.status_code == 200, answer.text
        granted: dict[str, Any] = answer.json()
        return granted

    def upload(self, content_type: str, content: bytes) -> str:
        granted = self.grant(content_type, len(content))
        put = httpx.put(
            granted["upload_url"],
            content=content,
            headers=granted["headers"],
            trust_env=False,
            verify=False,
            timeout=120,
        )
        assert put.status_code == 200
        url: str = granted["url"]
        return url


def without_key(method: str, url: object, **more: Any) -> httpx.Response:
    """Send one request that has no API key unless it is given."""
    return httpx.request(
        method, str(url), trust_env=False, verify=False, timeout=120, **more
    )


def png(size: tuple[int, int] = (32, 24), color: str = "teal") -> bytes:
    """Make a small picture."""
    file = BytesIO()
    Image.new("RGB", size, color).save(file, "PNG")
    return file.getvalue()


@pytest.fixture(scope="module")
def sandboxes(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[StartSandbox]:
    """Start sandboxes that live as long as the module's tests."""
    with ExitStack() as stack:

        def make(data_dir: Path | None = None, **settings: Any) -> Api:
            folder = data_dir or tmp_path_factory.mktemp("sandbox")
            running = start(Sandbox(folder, **{"sketch": True} | settings))
            stack.callback(running.stop)
            api = Api(running)
            stack.callback(api.http.close)
            return api

        yield make


@pytest.fixture(scope="module")
def api(sandboxes: StartSandbox) -> Api:
    """A sandbox that renders, shared by a module's tests."""
    return sandboxes(settle_after_s=0.05)


@pytest.fixture(scope="module")
def idle(sandboxes: StartSandbox) -> Api:
    """A sandbox where every job stays queued, shared by a module's tests."""
    return sandboxes(concurrency=0, queue_size=1_000)


@pytest.fixture(scope="module")
def hooked(sandboxes: StartSandbox) -> Api:
    """A sandbox that reaches receivers on this machine, shared by a module's tests."""
    return sandboxes(allow_loopback_callbacks=True, settle_after_s=0.05)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """A receiver of webhooks that takes everything."""
    with receiving() as receiver:
        yield receiver


@pytest.fixture(scope="module")
def admin(sandboxes: StartSandbox) -> Iterator[AdminClient]:
    """The admin client of a sandbox that settles at once."""
    with AdminClient(sandboxes(settle_after_s=0.01)) as admin:
        yield admin
