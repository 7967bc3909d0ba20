"""A user's transport carries all requests, and its failures become typed errors."""

from __future__ import annotations

import asyncio
import ssl
import traceback
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpcore
import httpx
import pytest
import respx
import trustme

import mediakit as mk
from mediakit.client.io_thread import io_thread
from mediakit.sandbox.server.running import RunningSandbox
from tests.support.advancing_clock import AdvancingClock
from tests.support.samples.media_samples import make_mp4, make_png
from tests.support.servers.proxies import HTTPProxy, Relay
from tests.support.service_in_memory import (
    API,
    CHARGE_MICRO_USD,
    FILES,
    OUTPUT,
    ServiceInMemory,
)

KEY = "key-0123456789abcdef"


class ClosingTransport(httpx.MockTransport):
    """A transport that records the event loop of each close."""

    def __init__(self, service: ServiceInMemory) -> None:
        super().__init__(service.handle)
        self.closed_on: list[asyncio.AbstractEventLoop] = []

    async def aclose(self) -> None:
        """Record it."""
        self.closed_on.append(asyncio.get_running_loop())


def settings(transport: httpx.AsyncBaseTransport, home: Path) -> dict[str, Any]:
    return {"home": home, "catalog": mk.Catalog.default(), "transport": transport}


def client_of(
    transport: httpx.AsyncBaseTransport, home: Path, **more: Any
) -> mk.Client:
    return mk.Client(API, KEY, **settings(transport, home), **more)


@pytest.fixture
def picture(tmp_path: Path) -> Path:
    return make_png(tmp_path / "cat.png", (20, 20))


def assert_submitted_with(service: ServiceInMemory, picture: Path, saved: Path) -> None:
    """Check the service's requests for one submission with an uploaded picture."""
    assert saved.read_bytes() == OUTPUT
    assert list(service.jobs.values()) == ["media_1"]
    assert picture.read_bytes() in service.files.values()
    assert any(b"example.net/upload-1.png" in each.content for each in service.requests)
    for request in service.requests:
        is_of_api = request.url.host == urlsplit(API).hostname
        assert (request.headers.get("X-API-Key") == KEY) == is_of_api
    assert service.loops == {io_thread().loop}


# -- everything goes through it ---------------------------------------------------


def test_a_client_sends_everything_through_a_users_transport_and_asks_no_proxy(
    service: ServiceInMemory,
    picture: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with HTTPProxy(0) as proxy:
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url())
        with client_of(httpx.MockTransport(service.handle), tmp_path) as client:
            job = client.run("image-upscale", image_url=picture)
            saved = job.download(tmp_path / "result.mp4")

    assert job.charge_micro_usd == CHARGE_MICRO_USD
    assert_submitted_with(service, picture, saved)
    assert proxy.seen == []


def test_an_async_client_calls_the_users_transport_on_the_io_thread(
    service: ServiceInMemory, picture: Path, tmp_path: Path
) -> None:
    async def upscale() -> Path:
        transport = httpx.MockTransport(service.handle)
        async with mk.AsyncClient(API, KEY, **settings(transport, tmp_path)) as client:
            job = await client.submit("image-upscale", image_url=picture)
            await job.settle()
            assert asyncio.get_running_loop() is not io_thread().loop
            return await job.download(tmp_path / "result.mp4")

    assert_submitted_with(service, picture, asyncio.run(upscale()))


def test_the_length_of_a_clip_on_another_host_is_read_through_the_users_transport(
    service: ServiceInMemory, tmp_path: Path
) -> None:
    clip = make_mp4(tmp_path / "clip.mp4", (64, 64), duration_s=2)
    service.files["/clip.mp4"] = clip.read_bytes()
    with client_of(httpx.MockTransport(service.handle), tmp_path) as client:
        url = f"{FILES}/clip.mp4"
        measured = client.estimate("video-upscale", video_url=url)
        given = client.estimate("video-upscale", video_url=url, seconds={url: 2})

    assert measured == given
    assert {str(request.url) for request in service.requests} == {url}
    assert not any("X-API-Key" in request.headers for request in service.requests)


def test_a_router_of_respx_serves_a_client(
    service: ServiceInMemory, tmp_path: Path
) -> None:
    router = respx.Router()
    balance = router.get(f"{API}/billing/balance").respond(
        json={"balance_micro_usd": 5_000_000}
    )
    router.route().mock(side_effect=service.handle)
    with client_of(httpx.MockTransport(router.async_handler), tmp_path) as client:
        assert client.balance().balance_micro_usd == 5_000_000
        job = client.run("text-to-image", prompt="a kite")
        saved = job.download(tmp_path / "result.mp4")

    assert saved.read_bytes() == OUTPUT
    assert balance.calls.last.request.headers["X-API-Key"] == KEY


# -- closing ----------------------------------------------------------------------


def test_closing_a_client_closes_the_users_transport_once(
    service: ServiceInMemory, tmp_path: Path
) -> None:
    transport = ClosingTransport(service)
    client = client_of(transport, tmp_path)
    client.job("media_1").download(tmp_path / "result.mp4")
    assert transport.closed_on == []

    client.close()
    client.close()
    assert transport.closed_on == [io_thread().loop]


def test_a_connect_that_fails_closes_the_users_transport(
    service: ServiceInMemory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    transport = ClosingTransport(service)
    monkeypatch.setattr(service, "balance_micro_usd", "five")
    with pytest.raises(mk.ServiceError):
        mk.connect(API, KEY, **settings(transport, tmp_path))

    assert transport.closed_on == [io_thread().loop]


# -- what its failures mean -------------------------------------------------------

TIMEOUT_OF_HTTPX = httpx.ConnectTimeout("a failure")
TIMEOUT_OF_HTTPX.__cause__ = httpcore.ConnectTimeout()
NEVER_SENT = [httpx.ConnectError("a failure"), httpx.PoolTimeout("a failure")]
NEVER_SENT += [TIMEOUT_OF_HTTPX]
MAYBE_SENT = [
    # Some transports raise it for a connection that broke after sending.
    httpx.ConnectTimeout("a failure"),
    httpx.ReadError("a failure"),
    httpx.ReadTimeout("a failure"),
    httpx.RemoteProtocolError("a failure"),
    httpx.WriteError("a failure"),
    httpx.WriteTimeout("a failure"),
]


@pytest.mark.parametrize("failure", [*NEVER_SENT, *MAYBE_SENT], ids=repr)
def test_a_failure_of_the_users_transport_is_explained_and_makes_one_job(
    service: ServiceInMemory, tmp_path: Path, failure: httpx.TransportError
) -> None:
    def submit() -> str:
        transport = httpx.MockTransport(service.handle)
        with client_of(transport, tmp_path, clock=AdvancingClock()) as client:
            return client.submit("text-to-image", prompt="a kite").id

    is_in_doubt = failure in MAYBE_SENT
    words = "not known whether" if is_in_doubt else "Nothing was sent"
    service.on_submit = service.fails(failure, makes_jobs=is_in_doubt)
    with pytest.raises(mk.ServiceError, match=words) as caught:
        submit()
    assert caught.value.sent is (None if is_in_doubt else False)
    assert KEY not in "".join(traceback.format_exception(caught.value))
    assert len(service.posts) > 1

    service.on_submit = service.accepts
    assert list(service.jobs.values()) in ([], ["media_1"])
    assert submit() == "media_1"
    assert len(service.jobs) == len(set(service.posts)) == 1


@pytest.mark.parametrize("transport", [None, httpx.AsyncHTTPTransport])
def test_an_unknown_authority_is_refused_before_anything_is_sent(
    sandbox: RunningSandbox, tmp_path: Path, transport: Any
) -> None:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("127.0.0.1").configure_cert(tls)
    with (
        Relay(urlsplit(sandbox.base_url).port or 0, tls=tls) as server,
        mk.Client(
            f"https://127.0.0.1:{server.port}",
            sandbox.api_key,
            clock=AdvancingClock(),
            **settings(transport and transport(), tmp_path),
        ) as client,
        pytest.raises(mk.ServiceError, match="certificate is not trusted") as caught,
    ):
        client.submit("text-to-image", prompt="a kite")

    assert "tried once" in str(caught.value)
    assert caught.value.sent is False
    assert b"/v1/media/" not in server.received
