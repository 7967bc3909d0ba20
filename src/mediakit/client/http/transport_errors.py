"""Translates transport errors: why a request failed, and whether it was sent."""

from __future__ import annotations

import logging
import socket
import ssl
from collections.abc import Awaitable, Iterator
from contextvars import ContextVar
from typing import TypeVar

import httpx

from mediakit.client.http.exchange import NoAnswerError

T = TypeVar("T")

# Raised only before any byte is sent. ConnectTimeout is not listed because
# httpx-aiohttp also raises it when a connection breaks after sending.
UNSENT = (
    httpx.ConnectError,
    httpx.PoolTimeout,
    httpx.ProxyError,
    httpx.UnsupportedProtocol,
    httpx.InvalidURL,
)
# The same for the underlying libraries: exception class names by package.
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
INVALID_URL = "its address is not an http(s) URL"
CONNECT_TIMEOUTS = (
    "aiohttp.ConnectionTimeoutError",
    "httpcore.ConnectTimeout",
    "httpx.PoolTimeout",
)


async def translate_errors(work: Awaitable[T], *, in_body: bool = False) -> T:
    """Await an HTTP call and translate its failures to `NoAnswerError`.

    Suppresses the logs of httpx and httpcore, which would show signed URLs.

    Args:
        work: The call; its other exceptions propagate.
        in_body: Whether the head of the response has arrived.
    """
    token = _in_mediakit_request.set(True)
    try:
        return await work
    except Exception as error:
        if isinstance(error, NoAnswerError) or not _is_transport_error(error):
            raise
        no_answer = no_answer_from(error, in_body=in_body)
    finally:
        _in_mediakit_request.reset(token)
    # Raised outside the except block so that the httpx error, which holds the API key
    # in its request headers, is not chained to it.
    raise no_answer


def no_answer_from(error: BaseException, *, in_body: bool = False) -> NoAnswerError:
    """Return the error of a failed exchange, without its request.

    Args:
        error: The original error.
        in_body: Whether the head of the response had arrived.
    """
    sent = in_body or not _is_unsent(error)
    is_final = isinstance(error, httpx.UnsupportedProtocol | httpx.InvalidURL)
    if isinstance(error, httpx.ProxyError):  # it rejects the user or password
        is_final = str(error).startswith("407") or "password" in str(error)
    reason = _reason(error, sent=sent, in_body=in_body)
    return NoAnswerError(reason, sent=sent, is_final=is_final)


def _is_transport_error(error: Exception) -> bool:
    kinds = (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, OSError)
    # httpx passes on some exceptions of the underlying libraries unchanged.
    return isinstance(error, kinds) or _package_of(error) in ("aiohttp", "socksio")


def _is_unsent(error: BaseException) -> bool:
    cause = error if _package_of(error) == "aiohttp" else error.__cause__
    if _package_of(error) == "socksio":
        return True
    if cause is not None and _package_of(cause) in UNSENT_CAUSES:
        names = {kind.__name__ for kind in type(cause).__mro__}
        if names & UNSENT_CAUSES[_package_of(cause)]:
            return True
        if _package_of(cause) == "aiohttp":
            return False
    return isinstance(error, UNSENT)


def _package_of(error: BaseException) -> str:
    return type(error).__module__.partition(".")[0]


def _reason(error: BaseException, *, sent: bool, in_body: bool) -> str:
    chain = list(_causes(error))
    for kind, words in _REASONS_SENT if sent else _REASONS_UNSENT:
        if any(isinstance(each, kind) for each in chain):
            return words
    names = {type(each).__name__ for each in chain}
    if not sent:
        is_late = any(
            f"{_package_of(each)}.{type(each).__name__}" in CONNECT_TIMEOUTS
            for each in chain
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
    (httpx.UnsupportedProtocol, INVALID_URL),
    (httpx.InvalidURL, INVALID_URL),
)
_REASONS_SENT: _Reasons = (
    (httpx.DecodingError, "its answer cannot be unpacked"),
    (httpx.WriteTimeout, "it took the request too slowly"),
    (httpx.ReadTimeout, "no answer in time"),
    (TimeoutError, "no answer in time"),
)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


_in_mediakit_request: ContextVar[bool] = ContextVar("mediakit_is_ours", default=False)


_PARTS_OF_HTTPCORE = ("connection", "http11", "http2", "proxy", "socks")


class _DropOwnRequests(logging.Filter):
    """Drops the log records of our requests: a URL may be signed."""

    def filter(self, record: logging.LogRecord) -> bool:
        return not _in_mediakit_request.get()


for _name in ("httpx", *(f"httpcore.{part}" for part in _PARTS_OF_HTTPCORE)):
    logging.getLogger(_name).addFilter(_DropOwnRequests())
