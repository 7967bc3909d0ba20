"""A user's own transport carries all requests, and its failures are understood."""

from __future__ import annotations

import asyncio
import ssl
import traceback
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from urllib.parse import urlsplit

import httpcore
import httpx
import pytest
import respx
import trustme

import mediakit as mk
from mediakit.client import Service
from mediakit.client.loop import io_thread
from mediakit.clock import SystemClock
from mediakit.history import History
from mediakit.sandbox.server.running import RunningSandbox
from tests.support.advancing_clock import AdvancingClock
from tests.support.clients import async_client
from tests.support.samples.media_samples import make_mp4, make_png
from tests.support.servers.proxies import HTTPProxy, Relay

API = "https://api.example.com"
FILES = "https://files.example.net"
KEY = "key-0123456789abcdef"
BALANCE = {"balance_micro_usd": 5_000_000}
CHARGE_MICRO_USD = 7_000
OUTPUT = b"the bytes of a picture" * 1_000
PATIENCE_S = 60.0


class FakeService:
    """A service and its file storage in memory; `handle` answers requests.

    `failures` are raised by submissions, in order. `makes_jobs` tells whether the job
    is still made, so that only the response is lost.
    """

    def __init__(self) -> None:
        self.requests: list[httpx.Request] = []
        self.loops: set[asyncio.AbstractEventLoop] = set()
        self.failures: Iterator[Exception] = iter(())
        self.makes_jobs = True
        self.jobs: dict[str, str] = {}
        self.files: dict[str, bytes] = {"/output.png": OUTPUT}

    def handle(self, request: httpx.Request) -> httpx.Response:
        """Answer a request."""
        self.requests.append(request)
        self.loops.add(asyncio.get_running_loop())
        if f"{request.url.scheme}://{request.url.host}" == FILES:
            return self._file(request)
        match request.method, request.url.path.strip("/").split("/"):
            case "GET", ["billing", "balance"]:
                return httpx.Response(200, json=BALANCE)
            case "GET", ["v1", "media", "jobs", job_id]:
                return httpx.Response(200, json=completed(job_id))
            case "POST", ["v1", "media", "uploads"]:
                return httpx.Response(200, json=self._grant())
            case "POST", ["v1", "media", _, _, _]:
                return self._submission(request)
        return httpx.Response(404, json={"message": "There is nothing here."})

    async def handle_async(self, request: httpx.Request) -> httpx.Response:
        """Answer a request after a turn of the event loop."""
        await asyncio.sleep(0)
        return self.handle(request)

    def _file(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path
        if request.method == "PUT":
            self.files[path] = request.content
            return httpx.Response(200)
        return httpx.Response(200, content=self.files[path], headers={"ETag": '"1"'})

    def _grant(self) -> dict[str, object]:
        url = f"{FILES}/upload-{len(self.files)}.png"
        return {"upload_url": f"{url}?signature=x", "headers": {}, "url": url}

    def _submission(self, request: httpx.Request) -> httpx.Response:
        failure = next(self.failures, None)
        if failure is None or self.makes_jobs:
            key = request.headers["Idempotency-Key"]
            self.jobs.setdefault(key, f"media_{len(self.jobs) + 1}")
        if failure is not None:
            raise failure
        return httpx.Response(200, json={"id": self.jobs[key], "status": "queued"})

    @property
    def submissions(self) -> list[tuple[str, bytes]]:
        """Return key and bytes of each submission that arrived, in order."""
        return [
            (request.headers["Idempotency-Key"], request.content)
            for request in self.requests
            if "Idempotency-Key" in request.headers
        ]


def completed(job_id: str) -> dict[str, object]:
    file = {"url": f"{FILES}/output.png", "content_type": "image/png"}
    return {
        "id": job_id,
        "status": "completed",
        "output": {"media_type": "image", "image": file},
        "billing": {"state": "settled", "charge_micro_usd": CHARGE_MICRO_USD},
    }


class CountingTransport(httpx.MockTransport):
    """A transport that records on which event loop it is closed, each time."""

    def __init__(self, handler: Callable[[httpx.Request], httpx.Response]) -> None:
        super().__init__(handler)
        self.closed_on: list[asyncio.AbstractEventLoop] = []

    async def aclose(self) -> None:
        """Record it."""
        self.closed_on.append(asyncio.get_running_loop())


def client_of(transport: httpx.AsyncBaseTransport, home: Path) -> mk.Client:
    return mk.Client(
        API, KEY, home=home, catalog=mk.Catalog.default(), transport=transport
    )


def async_client_of(transport: httpx.AsyncBaseTransport, home: Path) -> mk.AsyncClient:
    return mk.AsyncClient(
        API, KEY, home=home, catalog=mk.Catalog.default(), transport=transport
    )


@pytest.fixture
def service() -> FakeService:
    return FakeService()


@pytest.fixture
def picture(tmp_path: Path) -> Path:
    return make_png(tmp_path / "cat.png", (20, 20))


def assert_submitted_with(service: FakeService, picture: Path, saved: Path) -> None:
    """Check what the service saw of one submission with an uploaded picture."""
    assert saved.read_bytes() == OUTPUT
    assert list(service.jobs.values()) == ["media_1"]
    assert picture.read_bytes() in service.files.values()
    assert b"files.example.net/upload-1.png" in service.submissions[0][1]
    for request in service.requests:
        is_of_api = request.url.host == urlsplit(API).hostname
        assert (request.headers.get("X-API-Key") == KEY) == is_of_api
    assert service.loops == {io_thread().loop}


# -- everything goes through it ---------------------------------------------------


@pytest.mark.parametrize("handler", ["handle", "handle_async"])
def test_a_client_submits_uploads_and_downloads_through_a_users_transport(
    service: FakeService, picture: Path, tmp_path: Path, handler: str
) -> None:
    transport = httpx.MockTransport(getattr(service, handler))
    with client_of(transport, tmp_path) as client:
        job = client.submit("image-upscale", image_url=picture)
        job.wait(PATIENCE_S).settle(PATIENCE_S)
        saved = job.download(tmp_path / "result.png")

    assert job.charge_micro_usd == CHARGE_MICRO_USD
    assert_submitted_with(service, picture, saved)


@pytest.mark.parametrize("handler", ["handle", "handle_async"])
def test_an_awaited_client_calls_the_users_transport_on_the_io_thread(
    service: FakeService, picture: Path, tmp_path: Path, handler: str
) -> None:
    async def upscale() -> Path:
        transport = httpx.MockTransport(getattr(service, handler))
        async with async_client_of(transport, tmp_path) as client:
            job = await client.submit("image-upscale", image_url=picture)
            await job.settle(PATIENCE_S)
            assert job.charge_micro_usd == CHARGE_MICRO_USD
            assert asyncio.get_running_loop() is not io_thread().loop
            return await job.download(tmp_path / "result.png")

    assert_submitted_with(service, picture, asyncio.run(upscale()))


def test_connect_reads_the_balance_through_the_users_transport(
    service: FakeService,
    picture: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with mk.connect(
        API,
        KEY,
        home=tmp_path,
        catalog=mk.Catalog.default(),
        transport=httpx.MockTransport(service.handle),
    ) as client:
        assert "balance $5.00" in capsys.readouterr().out
        job = client.run("image-upscale", image_url=picture, timeout_s=PATIENCE_S)
        saved = job.download(tmp_path / "result.png")

    assert_submitted_with(service, picture, saved)


def test_a_clip_of_another_host_is_measured_through_the_users_transport(
    service: FakeService, tmp_path: Path
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


def test_the_environments_proxies_are_off_with_a_users_transport(
    service: FakeService,
    picture: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with HTTPProxy(0) as proxy:
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url())
        with client_of(httpx.MockTransport(service.handle), tmp_path) as client:
            job = client.run("image-upscale", image_url=picture, timeout_s=PATIENCE_S)
            saved = job.download(tmp_path / "result.png")

    assert_submitted_with(service, picture, saved)
    assert proxy.seen == []


# -- closing ----------------------------------------------------------------------


def test_closing_a_client_closes_the_users_transport_once(
    service: FakeService, tmp_path: Path
) -> None:
    transport = CountingTransport(service.handle)
    client = client_of(transport, tmp_path)
    client.balance()
    client.job("media_1").download(tmp_path / "result.png")
    assert transport.closed_on == []

    client.close()
    client.close()
    assert transport.closed_on == [io_thread().loop]


def test_closing_a_client_that_sent_nothing_closes_the_users_transport(
    service: FakeService, tmp_path: Path
) -> None:
    transport = CountingTransport(service.handle)
    client_of(transport, tmp_path).close()

    assert transport.closed_on == [io_thread().loop]


def test_leaving_an_awaited_client_closes_the_users_transport(
    service: FakeService, tmp_path: Path
) -> None:
    transport = CountingTransport(service.handle)

    async def read() -> None:
        async with async_client_of(transport, tmp_path) as client:
            await client.balance()
            assert transport.closed_on == []

    asyncio.run(read())
    assert transport.closed_on == [io_thread().loop]


def test_a_connect_that_fails_closes_the_users_transport(tmp_path: Path) -> None:
    transport = CountingTransport(
        lambda _: httpx.Response(401, json={"message": "No."})
    )
    with pytest.raises(mk.AuthError):
        mk.connect(
            API, KEY, home=tmp_path, catalog=mk.Catalog.default(), transport=transport
        )

    assert transport.closed_on == [io_thread().loop]


# -- what its failures mean -------------------------------------------------------

NEVER_SENT = (httpx.ConnectError, httpx.PoolTimeout)
MAYBE_SENT = (
    # Some transports raise it for a connection that broke after sending.
    httpx.ConnectTimeout,
    httpx.ReadError,
    httpx.ReadTimeout,
    httpx.RemoteProtocolError,
    httpx.WriteError,
    httpx.WriteTimeout,
)
FailureType = type[httpx.TransportError]


class SleepClock(SystemClock):
    """A clock that is moved by sleeping alone, which takes no time."""

    def __init__(self) -> None:
        self._slept_s = 0.0

    def monotonic_s(self) -> float:
        """Return the seconds slept so far."""
        return self._slept_s

    async def sleep(self, seconds: float) -> None:
        """Sleep for no time."""
        self._slept_s += seconds
        await asyncio.sleep(0)


def without_end(failure: FailureType) -> Iterator[Exception]:
    while True:
        yield failure("a failure")


def submit(service: FakeService, home: Path) -> str:
    """Submit one request with a client that retries for 20 s of its clock."""

    async def submitted() -> str:
        async with async_client(
            Service(API, KEY),
            history=History(home / "history.sqlite3"),
            clock=SleepClock(),
            submit_retry_for_s=20.0,
            transport=httpx.MockTransport(service.handle),
        ) as client:
            return (await client.submit("text-to-image", prompt="a kite")).id

    return asyncio.run(submitted())


@pytest.mark.parametrize("failure", NEVER_SENT)
def test_a_failure_before_sending_says_that_nothing_was_sent(
    service: FakeService, tmp_path: Path, failure: FailureType
) -> None:
    service.failures, service.makes_jobs = without_end(failure), False
    with pytest.raises(mk.ServiceError, match="Nothing was sent") as caught:
        submit(service, tmp_path)

    assert "cannot be reached" in str(caught.value)
    assert KEY not in "".join(traceback.format_exception(caught.value))
    assert service.jobs == {}

    service.failures = iter(())
    submit(service, tmp_path)
    assert len(service.jobs) == len(set(service.submissions)) == 1


def test_a_connect_timeout_of_httpx_itself_was_not_sent(
    service: FakeService, tmp_path: Path
) -> None:
    def timeouts() -> Iterator[Exception]:
        for timeout in without_end(httpx.ConnectTimeout):
            timeout.__cause__ = httpcore.ConnectTimeout()
            yield timeout

    service.failures, service.makes_jobs = timeouts(), False
    with pytest.raises(mk.ServiceError, match="Nothing was sent"):
        submit(service, tmp_path)


@pytest.mark.parametrize("failure", MAYBE_SENT)
def test_after_a_lost_response_the_same_key_and_bytes_are_sent_again(
    service: FakeService, tmp_path: Path, failure: FailureType
) -> None:
    service.failures = iter([failure("lost")])
    job_id = submit(service, tmp_path)

    first, second = service.submissions
    assert first == second
    assert list(service.jobs.values()) == [job_id]


@pytest.mark.parametrize("failure", MAYBE_SENT)
def test_a_submission_without_any_response_is_in_doubt_and_made_once(
    service: FakeService, tmp_path: Path, failure: FailureType
) -> None:
    service.failures = without_end(failure)
    with pytest.raises(mk.ServiceError, match="not known whether") as caught:
        submit(service, tmp_path)

    assert "othing was sent" not in str(caught.value)
    assert KEY not in "".join(traceback.format_exception(caught.value))

    service.failures = iter(())
    job_id = submit(service, tmp_path)
    assert list(service.jobs.values()) == [job_id]
    assert len(set(service.submissions)) == 1


def test_a_later_failure_before_sending_does_not_end_the_doubt(
    service: FakeService, tmp_path: Path
) -> None:
    lost = [httpx.ReadError("lost")]
    service.failures = chain(lost, without_end(httpx.ConnectError))
    with pytest.raises(mk.ServiceError, match="not known whether"):
        submit(service, tmp_path)

    assert len(service.submissions) > 1
    assert len(set(service.submissions)) == 1


def test_an_error_of_the_users_own_handler_is_not_hidden(tmp_path: Path) -> None:
    def handle(request: httpx.Request) -> httpx.Response:
        raise ZeroDivisionError("a mistake in a test")

    with (
        client_of(httpx.MockTransport(handle), tmp_path) as client,
        pytest.raises(ZeroDivisionError, match="a mistake in a test"),
    ):
        client.balance()


# -- respx ------------------------------------------------------------------------


def test_a_router_of_respx_serves_a_client(
    service: FakeService, tmp_path: Path
) -> None:
    router = respx.Router()
    balance = router.get(f"{API}/billing/balance").respond(json=BALANCE)
    others = router.route().mock(side_effect=service.handle)
    with client_of(httpx.MockTransport(router.async_handler), tmp_path) as client:
        assert client.balance().balance_micro_usd == BALANCE["balance_micro_usd"]
        job = client.run("text-to-image", prompt="a kite", timeout_s=PATIENCE_S)
        saved = job.download(tmp_path / "result.png")

    assert saved.read_bytes() == OUTPUT
    assert balance.calls.last.request.headers["X-API-Key"] == KEY
    assert others.call_count == len(service.requests) > 0


def test_a_request_that_respx_does_not_know_is_reported_as_it_reports_it(
    tmp_path: Path,
) -> None:
    router = respx.MockRouter(assert_all_called=False)
    router.get(f"{API}/v1/media/jobs/media_1").respond(json=completed("media_1"))
    with client_of(httpx.MockTransport(router.async_handler), tmp_path) as client:
        assert client.job("media_1").charge_micro_usd == CHARGE_MICRO_USD
        with pytest.raises(respx.models.AllMockedAssertionError):
            client.balance()


def test_the_patches_of_respx_reach_a_transport_of_httpx(
    service: FakeService, tmp_path: Path
) -> None:
    with respx.mock:
        balance = respx.get(f"{API}/billing/balance").respond(json=BALANCE)
        respx.route().mock(side_effect=service.handle)
        with client_of(httpx.AsyncHTTPTransport(), tmp_path) as client:
            assert client.balance().balance_micro_usd == BALANCE["balance_micro_usd"]
            job = client.run("text-to-image", prompt="a kite", timeout_s=PATIENCE_S)
            saved = job.download(tmp_path / "result.png")
        assert balance.call_count == 1

    assert saved.read_bytes() == OUTPUT
    assert list(service.jobs.values()) == ["media_1"]


# -- a private certificate authority ----------------------------------------------


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def tls(authority: trustme.CA) -> ssl.SSLContext:
    """Give the server side of TLS, with a certificate of the private authority."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    return context


def upscale_over_tls(
    sandbox: RunningSandbox,
    tls: ssl.SSLContext,
    home: Path,
    transport: httpx.AsyncBaseTransport | None = None,
) -> Path:
    """Upscale a picture from the sandbox behind a server that speaks TLS."""
    port = urlsplit(sandbox.base_url).port
    assert port is not None
    with (
        Relay(port, tls=tls) as server,
        mk.Client(
            f"https://127.0.0.1:{server.port}",
            sandbox.api_key,
            home=home,
            catalog=mk.Catalog.default(),
            clock=AdvancingClock(),
            transport=transport,
        ) as client,
    ):
        job = client.run("text-to-image", prompt="a kite", timeout_s=1_000 * PATIENCE_S)
        saved = job.download(home / "result.png")
    assert b"/v1/media/" in server.received
    return saved


def test_an_authority_in_ssl_cert_file_is_trusted(
    sandbox: RunningSandbox,
    tls: ssl.SSLContext,
    authority: trustme.CA,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))

    assert upscale_over_tls(sandbox, tls, tmp_path).stat().st_size > 0


def test_an_authority_of_the_users_transport_is_trusted(
    sandbox: RunningSandbox,
    tls: ssl.SSLContext,
    authority: trustme.CA,
    tmp_path: Path,
) -> None:
    context = ssl.create_default_context()
    authority.configure_trust(context)
    transport = httpx.AsyncHTTPTransport(verify=context)

    assert upscale_over_tls(sandbox, tls, tmp_path, transport).stat().st_size > 0


@pytest.mark.parametrize("make", [lambda: None, httpx.AsyncHTTPTransport])
def test_an_unknown_authority_is_refused_before_anything_is_sent(
    sandbox: RunningSandbox,
    tls: ssl.SSLContext,
    tmp_path: Path,
    make: Callable[[], httpx.AsyncBaseTransport | None],
) -> None:
    with pytest.raises(mk.ServiceError, match="certificate is not trusted") as caught:
        upscale_over_tls(sandbox, tls, tmp_path, make())

    assert "Nothing was sent" in str(caught.value)
