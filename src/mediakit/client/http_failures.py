"""What is known of an HTTP exchange that failed: why, and whether it was sent."""

from __future__ import annotations

import logging
import socket
import ssl
from collections.abc import Awaitable, Iterator
from contextvars import ContextVar
from typing import TypeVar

import httpx

from mediakit.client.exchange import NoAnswerError

T = TypeVar("T")

# Raised before the first byte of a request leaves, and only then. A ConnectTimeout is
# not among them: httpx-aiohttp raises it for connections that broke after sending.
UNSENT = (
    httpx.ConnectError,
    httpx.PoolTimeout,
    httpx.ProxyError,
    httpx.UnsupportedProtocol,
    httpx.InvalidURL,
)
# The same, by the names of the exceptions that are the cause.
UNSENT_CAUSES = {
    "aiohttp": {
        "ClientConnectorError",
        "ClientHttpProxyError",
        "ConnectionTimeoutError",
        "InvalidURL",
        "NonHttpUrlClientError",
    },
    "httpcore": {"ConnectTimeout"},
}
NO_ADDRESS = "its address is not an http(s) URL"
LATE = (
    "aiohttp.ConnectionTimeoutError",
    "httpcore.ConnectTimeout",
    "httpx.PoolTimeout",
)


async def known(work: Awaitable[T], *, in_body: bool = False) -> T:
    """Await HTTP, and turn its failures into `NoAnswerError`.

    While it lasts httpx and httpcore log nothing: they would log signed URLs.

    Args:
        work: What is awaited; its other exceptions are let through.
        in_body: Whether the head of the answer has arrived.
    """
    token = _is_ours.set(True)
    try:
        return await work
    except Exception as error:
        if isinstance(error, NoAnswerError) or not _is_failed_exchange(error):
            raise
        no_answer = failure_of(error, in_body=in_body)
    finally:
        _is_ours.reset(token)
    # Outside of the handler: errors of httpx hold the request with its headers, and so
    # the API key; none of them may be chained to what people see or log.
    raise no_answer


def failure_of(error: BaseException, *, in_body: bool = False) -> NoAnswerError:
    """Return what is known of an exchange that failed.

    Args:
        error: What it failed with.
        in_body: Whether the head of the answer had arrived.
    """
    sent = in_body or not _is_unsent(error)
    is_final = isinstance(error, httpx.UnsupportedProtocol | httpx.InvalidURL)
    if isinstance(error, httpx.ProxyError):  # it wants another user or password
        is_final = str(error).startswith("407") or "password" in str(error)
    reason = _reason(error, sent=sent, in_body=in_body)
    return NoAnswerError(reason, sent=sent, is_final=is_final)


def _is_failed_exchange(error: Exception) -> bool:
    kinds = (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, OSError)
    # Some exceptions of the libraries below are let through as they are.
    return isinstance(error, kinds) or _library(error) in ("aiohttp", "socksio")


def _is_unsent(error: BaseException) -> bool:
    cause = error if _library(error) == "aiohttp" else error.__cause__
    if _library(error) == "socksio":
        return True
    if cause is not None and _library(cause) in UNSENT_CAUSES:
        names = {kind.__name__ for kind in type(cause).__mro__}
        if names & UNSENT_CAUSES[_library(cause)]:
            return True
        if _library(cause) == "aiohttp":
            return False
    return isinstance(error, UNSENT)


def _library(error: BaseException) -> str:
    return type(error).__module__.partition(".")[0]


def _reason(error: BaseException, *, sent: bool, in_body: bool) -> str:
    chain = list(_chain(error))
    for kind, words in _REASONS_SENT if sent else _REASONS_UNSENT:
        if any(isinstance(each, kind) for each in chain):
            return words
    names = {type(each).__name__ for each in chain}
    if not sent:
        is_late = any(
            f"{_library(each)}.{type(each).__name__}" in LATE for each in chain
        )
        return "no connection in time" if is_late else "no connection"
    if in_body:
        return "its answer was cut off"
    if "ServerDisconnectedError" in names or "disconnected" in str(error):
        return "it closed the connection"
    if names & {"ClientResponseError", "RemoteProtocolError"}:
        return "its answer is not HTTP"
    return "the connection broke"


_Reasons = tuple[tuple[type[BaseException], str], ...]
_REASONS_UNSENT: _Reasons = (
    (socket.gaierror, "no such host"),
    (ssl.SSLCertVerificationError, "its certificate is not trusted"),
    (ssl.SSLError, "no connection by TLS"),
    (httpx.ProxyError, "the proxy refused"),
    (httpx.UnsupportedProtocol, NO_ADDRESS),
    (httpx.InvalidURL, NO_ADDRESS),
)
_REASONS_SENT: _Reasons = (
    (httpx.DecodingError, "its answer cannot be unpacked"),
    (httpx.WriteTimeout, "it took the request too slowly"),
    (httpx.ReadTimeout, "no answer in time"),
    (TimeoutError, "no answer in time"),
)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


_is_ours: ContextVar[bool] = ContextVar("mediakit_is_ours", default=False)


_PARTS_OF_HTTPCORE = ("connection", "http11", "http2", "proxy", "socks")


class _WithoutURLs(logging.Filter):
    """Drops what is logged of our requests: a URL may be signed."""

    def filter(self, record: logging.LogRecord) -> bool:
        return not _is_ours.get()


for _name in ("httpx", *(f"httpcore.{part}" for part in _PARTS_OF_HTTPCORE)):
    logging.getLogger(_name).addFilter(_WithoutURLs())
