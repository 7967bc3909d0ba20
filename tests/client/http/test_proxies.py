"""Proxies from the environment, on real sockets: their use, and what they see."""

from __future__ import annotations

import gc
import json
import logging
import socket
import ssl
import sys
import traceback
from asyncio import SelectorEventLoop
from base64 import b64encode
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import trustme

import mediakit as mk
from mediakit.clock import Clock
from mediakit.sandbox.server.running import RunningSandbox
from tests.support.advancing_clock import AdvancingClock
from tests.support.samples.media_samples import make_png
from tests.support.servers.proxies import HTTPProxy, Proxy, Relay, Seen, SOCKSProxy
from tests.support.servers.storage import SIGNATURE, Storage

KEY = "key-0123456789abcdef"
PLAIN = "http://service.example"
SECURE = "https://service.example"
CREDENTIALS = "ann:s@cret"
IN_URL = "ann:s%40cret"
WRONG_IN_URL = "ann:wr%40ng"
JOB_PATH, OUTPUT_PATH = "/v1/media/jobs/media_kite", "/files/kite.png"
OUTPUT = b"the bytes of a picture" * 10_000


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture(autouse=True)
def environment(
    authority: trustme.CA, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> pytest.MonkeyPatch:
    """Set up an environment without proxies that trusts the certificate authority."""
    for name in ("http", "https", "all", "no"):
        monkeypatch.delenv(f"{name}_proxy", raising=False)
        monkeypatch.delenv(f"{name}_proxy".upper(), raising=False)
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    return monkeypatch


@dataclass(frozen=True)
class Case:
    """A service, and the proxy that leads to it.

    Args:
        variable: The environment variable that names the proxy.
        base_url: Where the service is.
        scheme: The scheme of the proxy's URL.
        credentials: What the proxy demands.
    """

    variable: str
    base_url: str
    scheme: str
    credentials: str | None = None

    def __str__(self) -> str:
        asks = "-with-credentials" if self.credentials else ""
        service = urlsplit(self.base_url).scheme
        return f"{self.variable}-{self.scheme}{asks}-for-{service}"

    @property
    def is_tunnelled(self) -> bool:
        """Tell whether the proxy passes on bytes that it does not read."""
        return self.base_url == SECURE or self.scheme.startswith("socks")

    def proxy(self, port: int, authority: trustme.CA) -> Proxy:
        """Return the proxy, leading to a port."""
        if self.scheme.startswith("socks"):
            return SOCKSProxy(port, credentials=self.credentials)
        tls = certified(authority, "127.0.0.1") if self.scheme == "https" else None
        return HTTPProxy(port, credentials=self.credentials, tls=tls)

    def url(self, proxy: Proxy, user: str) -> str:
        """Return the URL that names the proxy in the environment."""
        return proxy.url(user).replace(proxy.scheme, self.scheme, 1)


OPEN = [
    Case("HTTP_PROXY", PLAIN, "http"),
    Case("https_proxy", SECURE, "http"),
    Case("ALL_PROXY", PLAIN, "socks5"),
    Case("ALL_PROXY", SECURE, "socks5h"),
]
GUARDED = [
    Case("HTTP_PROXY", PLAIN, "http", CREDENTIALS),
    pytest.param(
        Case("HTTPS_PROXY", SECURE, "http", CREDENTIALS), marks=pytest.mark.soak
    ),
    pytest.param(
        Case("HTTP_PROXY", PLAIN, "https", CREDENTIALS), marks=pytest.mark.soak
    ),
    Case("HTTPS_PROXY", SECURE, "https", CREDENTIALS),
    pytest.param(
        Case("ALL_PROXY", PLAIN, "socks5h", CREDENTIALS), marks=pytest.mark.soak
    ),
    Case("ALL_PROXY", SECURE, "socks5", CREDENTIALS),
]


def certified(authority: trustme.CA, *hosts: str) -> ssl.SSLContext:
    """Return the server side of TLS, with a certificate for hosts."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(*hosts).configure_cert(context)
    return context


def port_of(base_url: str) -> int:
    port = urlsplit(base_url).port
    assert port is not None
    return port


@contextmanager
def behind(
    case: Case,
    port: int,
    authority: trustme.CA,
    environment: pytest.MonkeyPatch,
    *,
    user: str = IN_URL,
) -> Iterator[Proxy]:
    """Start a case's proxy in front of a server, and set it in the environment."""
    with ExitStack() as stack:
        if case.base_url == SECURE:
            tls = certified(authority, "service.example", "files.example")
            port = stack.enter_context(Relay(port, tls=tls)).port
        proxy = stack.enter_context(case.proxy(port, authority))
        given = user if case.credentials else ""
        environment.setenv(case.variable, case.url(proxy, given))
        yield proxy


def client_of(
    base_url: str, api_key: str, home: Path, clock: Clock | None = None
) -> mk.Client:
    functions = mk.Catalog.default()
    return mk.Client(base_url, api_key, home=home, catalog=functions, clock=clock)


def upscale(base_url: str, api_key: str, folder: Path) -> mk.Job:
    """Upload a picture, upscale it, and download it."""
    picture = make_png(folder / "cat.png", (20, 20))
    with client_of(base_url, api_key, folder) as client:
        job = client.run("image-upscale", image_url=picture)
        assert job.settle().charge_micro_usd
        assert job.download(folder).stat().st_size > 0
        return job


def secrets_of(password: str, user: str = "ann") -> list[str]:
    """Return the forms of a password: plain, in a URL, and encoded for a header."""
    encoded = b64encode(f"{user}:{password}".encode()).decode()
    return [password, password.replace("@", "%40"), encoded]


# -- a whole submission -------------------------------------------------------------


@pytest.mark.parametrize("case", [*OPEN, *GUARDED], ids=str)
def test_a_submission_goes_through_a_proxy(
    case: Case,
    sandbox: RunningSandbox,
    authority: trustme.CA,
    environment: pytest.MonkeyPatch,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    with behind(case, port_of(sandbox.base_url), authority, environment) as proxy:
        job = upscale(case.base_url, sandbox.api_key, tmp_path)

    assert {seen.credentials for seen in proxy.seen} == {case.credentials}
    if case.is_tunnelled:
        port = 443 if case.base_url == SECURE else 80
        assert set(proxy.targets) == {f"service.example:{port}"}
        is_readable = case.base_url == PLAIN
        assert (sandbox.api_key.encode() in proxy.received) == is_readable
    else:
        submission = f"{PLAIN}/v1/media/sandbox/image-upscale/image-upscale"
        assert Seen("POST", submission, case.credentials, True) in proxy.seen
        assert f"{PLAIN}/v1/media/jobs/{job.id}" in proxy.targets
        assert all(target.startswith(f"{PLAIN}/") for target in proxy.targets)
    assert f"/v1/media/jobs/{job.id}" in caplog.text
    for secret in (*secrets_of("s@cret"), sandbox.api_key):
        assert secret not in caplog.text


@pytest.mark.parametrize("case", [*OPEN, *GUARDED], ids=str)
def test_files_of_other_hosts_go_through_a_proxy(
    case: Case,
    authority: trustme.CA,
    environment: pytest.MonkeyPatch,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    picture = make_png(tmp_path / "cat.png")
    files = case.base_url.replace("service", "files")
    with Storage() as storage:
        storage.files = {
            JOB_PATH: json.dumps(completed(files + OUTPUT_PATH)).encode(),
            OUTPUT_PATH: OUTPUT,
        }
        port, storage.base_url = storage.server_port, files
        with (
            behind(case, port, authority, environment) as proxy,
            client_of(case.base_url, KEY, tmp_path) as client,
        ):
            assert client.upload(picture) == f"{files}/files/1"
            saved = client.job("media_kite").download(tmp_path / "kite.png")

    assert saved.read_bytes() == OUTPUT
    assert storage.taken == {"/put/1": picture.read_bytes()}
    for method, path, headers in storage.asked:
        is_of_service = path.startswith("/v1/")
        assert (headers.get("X-API-Key") == KEY) == is_of_service, (method, path)
        assert "Proxy-Authorization" not in headers
    assert any("files.example" in target for target in proxy.targets)
    is_readable = case.base_url == PLAIN
    assert (KEY.encode() in proxy.received) == is_readable
    for secret in (*secrets_of("s@cret"), KEY, SIGNATURE):
        assert secret not in caplog.text


def completed(url: str) -> dict[str, Any]:
    file = {"url": url, "content_type": "image/png"}
    return {
        "id": "media_kite",
        "status": "completed",
        "output": {"media_type": "image", "image": file},
        "billing": {"state": "settled", "charge_micro_usd": 7_000},
    }


# -- where no proxy is used -------------------------------------------------------


@pytest.mark.parametrize(
    "excluded",
    [
        "service.example",
        ".example",
        ".service.example",
        "*.example",
        "service.*",
        "a.test;service.example|b.test",
        "'service.example'",
        "*",
        "SERVICE.example:PORT",
        "http://service.example",
        "fd07:b51a:cc66:f0::/64, [::1]:8080 , ,[::1] service.example",
    ],
)
def test_a_host_in_no_proxy_is_reached_directly(
    excluded: str,
    sandbox: RunningSandbox,
    environment: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    resolve = socket.getaddrinfo

    def resolve_here(host: Any, *args: Any, **settings: Any) -> Any:
        here = "127.0.0.1" if host in ("service.example", b"service.example") else host
        return resolve(here, *args, **settings)

    environment.setattr(socket, "getaddrinfo", resolve_here)
    port = port_of(sandbox.base_url)
    named = excluded.replace("PORT", str(port))
    environment.setenv("NO_PROXY", f"other.test,{named}")
    with HTTPProxy(port) as proxy:
        environment.setenv("HTTP_PROXY", proxy.url())
        upscale(f"{PLAIN}:{port}", sandbox.api_key, tmp_path)

    assert proxy.seen == []


@pytest.mark.parametrize(
    "others",
    [
        "localhost,fd07:b51a:cc66:f0::/64",
        "[::1]",
        "[::1]:8080",
        "::1%lo,10.0.0.0/8",
        ", ,",
        "http://,[,:,/,*.,ftp://service.example,]:1,service.example:1",
        "ervice.example,x.service.example",
    ],
)
def test_entries_of_no_proxy_that_mean_other_hosts_or_nothing_break_nothing(
    others: str,
    sandbox: RunningSandbox,
    environment: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    environment.setenv("NO_PROXY", others)
    with HTTPProxy(port_of(sandbox.base_url)) as proxy:
        environment.setenv("HTTP_PROXY", proxy.url())
        upscale(PLAIN, sandbox.api_key, tmp_path)

    assert all(target.startswith(f"{PLAIN}/") for target in proxy.targets)
    assert proxy.targets


@pytest.mark.parametrize(
    ("host", "network"),
    [
        ("[fd07:b51a:cc66:f0::5]", "fd07:b51a:cc66:f0::/64"),
        ("[fd07:b51a::5]", "[fd07:b51a::5]:80"),
        ("10.1.2.3", "10.0.0.0/8"),
    ],
)
def test_an_address_in_a_network_of_no_proxy_is_reached_directly(
    host: str, network: str, environment: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    connect = SelectorEventLoop.sock_connect

    async def connect_here(loop: Any, sock: Any, address: Any) -> None:
        if address[0] != "127.0.0.1":
            raise ConnectionRefusedError
        await connect(loop, sock, address)

    environment.setattr(SelectorEventLoop, "sock_connect", connect_here)
    with HTTPProxy(closed_port()) as proxy:
        environment.setenv("HTTP_PROXY", proxy.url())
        environment.setenv("NO_PROXY", network)
        error = refused(f"http://{host}", tmp_path)

    assert "Nothing was sent" in str(error)
    assert "NO_PROXY" not in str(error)
    assert proxy.received == b""


def test_variables_that_the_url_does_not_need_do_not_matter(
    sandbox: RunningSandbox, environment: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with HTTPProxy(port_of(sandbox.base_url)) as proxy:
        environment.setenv("HTTP_PROXY", proxy.url())
        environment.setenv("HTTPS_PROXY", "gopher://127.0.0.1:1")
        environment.setenv("ALL_PROXY", "socks://127.0.0.1:1080/")
        environment.setenv("SSL_CERT_FILE", str(tmp_path / "gone.pem"))
        upscale(PLAIN, sandbox.api_key, tmp_path)

    assert proxy.targets


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_service_on_this_machine_is_reached_directly(
    host: str,
    sandbox: RunningSandbox,
    environment: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    port = port_of(sandbox.base_url)
    with HTTPProxy(port) as proxy:
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"):
            environment.setenv(name, proxy.url())
        upscale(f"http://{host}:{port}", sandbox.api_key, tmp_path)

    assert proxy.seen == []


# -- what a proxy refuses ---------------------------------------------------------


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def refused(base_url: str, home: Path) -> mk.ServiceError:
    """Return the error of a submission that is not delivered."""
    with (
        client_of(base_url, KEY, home, AdvancingClock()) as client,
        pytest.raises(mk.ServiceError) as caught,
    ):
        client.submit("text-to-image", prompt="a kite")
    return caught.value


def shown(error: BaseException) -> str:
    """Return the texts of an error and of its causes."""
    return "".join(traceback.format_exception(error)) + repr(error)


# httpcore leaves its connection open when a SOCKS handshake fails.
leaves_open = pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")


@leaves_open
@pytest.mark.parametrize("case", GUARDED, ids=str)
def test_wrong_credentials_for_a_proxy_say_that_it_refused_and_nothing_was_sent(
    case: Case,
    sandbox: RunningSandbox,
    authority: trustme.CA,
    environment: pytest.MonkeyPatch,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    port = port_of(sandbox.base_url)
    with behind(case, port, authority, environment, user=WRONG_IN_URL) as proxy:
        error = refused(case.base_url, tmp_path)
    gc.collect()  # so that what httpcore left open warns here

    assert "the proxy refused" in str(error)
    assert "a user and a password" in str(error)
    assert "tried once" in str(error)
    assert "Nothing was sent" in str(error)
    assert {seen.credentials for seen in proxy.seen} == {"ann:wr@ng"}
    for secret in (*secrets_of("wr@ng"), KEY):
        assert secret not in shown(error)
        assert secret not in caplog.text


def test_a_proxy_whose_certificate_is_not_trusted_gets_no_request(
    environment: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    case = Case("HTTP_PROXY", PLAIN, "https")
    with behind(case, 0, trustme.CA(), environment) as proxy:
        error = refused(PLAIN, tmp_path)

    assert "certificate is not trusted" in str(error)
    assert "Nothing was sent" in str(error)
    assert proxy.received == b""


@pytest.mark.parametrize("scheme", ["http", "https", "socks5"])
def test_without_its_proxy_nothing_is_sent(
    scheme: str, environment: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    environment.setenv("ALL_PROXY", f"{scheme}://{IN_URL}@127.0.0.1:{closed_port()}")
    error = refused(PLAIN, tmp_path)

    assert "Nothing was sent" in str(error)
    assert not any(secret in shown(error) for secret in secrets_of("s@cret"))


def test_without_socksio_the_error_names_what_to_install(
    environment: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    environment.setitem(sys.modules, "socksio", None)
    with SOCKSProxy(0) as proxy:
        environment.setenv("ALL_PROXY", proxy.url())
        error = refused(PLAIN, tmp_path)

    assert "pip install socksio" in str(error)
    assert "Nothing was sent" in str(error)
    assert proxy.received == b""


@pytest.mark.parametrize("variable", ["ALL_PROXY", "http_proxy"])
@pytest.mark.parametrize(
    "url",
    [
        "ftp://{}@127.0.0.1:1",
        "http://{}@127.0.0.1:port",
        "socks://{}@127.0.0.1:1080",
        "{}@127.0.0.1:port",
    ],
)
def test_a_proxy_url_that_cannot_be_used_is_one_sentence_without_its_password(
    url: str, variable: str, environment: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    environment.setenv(variable, url.format(IN_URL))
    error = refused(PLAIN, tmp_path)

    with_scheme = url if "://" in url else f"http://{url}"
    assert f"{variable}={with_scheme.format('…')}" in str(error)
    assert "Nothing was sent" in str(error)
    assert not any(secret in shown(error) for secret in secrets_of("s@cret"))


# -- files of TLS that cannot be used --------------------------------------------------


def unusable(folder: Path, what: str) -> str:
    """Return a path that is missing, empty, a folder or not a certificate."""
    place = folder / f"{what}.pem"
    if what == "folder":
        place.mkdir()
    elif not what.endswith("gone"):
        place.write_text("" if what == "empty" else "no certificate")
    return str(place)


@pytest.mark.parametrize(
    ("variable", "what"),
    [
        ("SSL_CERT_FILE", "gone"),
        ("SSL_CERT_FILE", "empty"),
        ("SSL_CERT_FILE", "folder"),
        ("SSL_CERT_FILE", "text"),
        ("SSLKEYLOGFILE", "folder"),
        ("SSLKEYLOGFILE", "no folder/gone"),
    ],
)
def test_an_unusable_tls_file_is_named_at_once_but_only_if_needed(
    sandbox: RunningSandbox,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    variable: str,
    what: str,
) -> None:
    monkeypatch.setenv(variable, unusable(tmp_path, what))
    with mk.Client(sandbox.base_url, sandbox.api_key, home=tmp_path) as client:
        job = client.run("text-to-image", prompt="a kite")
        assert job.download(tmp_path).exists()

    clock = AdvancingClock()
    with mk.Client(
        "https://media.example",
        KEY,
        home=tmp_path,
        clock=clock,
        catalog=mk.Catalog.default(),
    ) as client:
        with pytest.raises(mk.ServiceError, match=f"{variable}=") as caught:
            client.submit("text-to-image", prompt="a boat")
        assert caught.value.sent is False
        assert client.reserved_micro_usd() == 0
    assert clock.slept_s == []
