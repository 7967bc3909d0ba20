"""Translates transport failures: what happened, and whether the request was sent."""

from __future__ import annotations

import logging
import socket
import ssl
from collections.abc import Awaitable, Iterator
from contextvars import ContextVar
from typing import TypeVar

import httpcore
import httpx

from mediakit.client.aiohttp_transport import ServerDisconnectedError
from mediakit.client.responses import NoAnswerError

INVALID_URL = "its address is not an http(s) URL"
CUT_OFF = "its response was cut off"
UNPACKABLE = "its response cannot be decompressed"
# httpcore has only this text for a SOCKS proxy that rejects the user or the password.
SOCKS_AUTH = "Invalid username/password"

Kinds = type[BaseException] | tuple[type[BaseException], ...]
Reasons = tuple[tuple[Kinds, str], ...]
T = TypeVar("T")


class ProxyAuthError(httpx.ProxyError):
    """An HTTP proxy rejects the user or the password (407)."""


# httpx.ConnectTimeout is not listed, because some transports raise it when a connection
# breaks after sending.
RAISED_BEFORE_SENDING = (
    httpx.ConnectError,
    httpx.PoolTimeout,
    httpx.ProxyError,
    httpx.UnsupportedProtocol,
    httpx.InvalidURL,
    httpcore.ConnectTimeout,
)
FINAL = (
    ProxyAuthError,
    httpx.UnsupportedProtocol,
    httpx.InvalidURL,
    ssl.SSLCertVerificationError,
)
REASONS_UNSENT: Reasons = (
    (socket.gaierror, "no such host"),
    (
        ssl.SSLCertVerificationError,
        "its certificate is not trusted; set SSL_CERT_FILE to trust other "
        "certificate authorities",
    ),
    (ssl.SSLError, "no TLS connection could be made"),
    (
        ProxyAuthError,
        "the proxy refused the connection (407): its URL must hold a user and a "
        "password that it accepts",
    ),
    (
        httpx.ProxyError,  # SOCKS has no separate code for a wrong password
        "the proxy refused the connection: its URL may need a user and a password that "
        "it accepts",
    ),
    ((httpx.UnsupportedProtocol, httpx.InvalidURL), INVALID_URL),
    ((httpx.PoolTimeout, httpcore.ConnectTimeout), "no connection in time"),
    (BaseException, "no connection"),
)
REASONS_SENT: Reasons = (
    (httpx.DecodingError, UNPACKABLE),
    (httpx.WriteTimeout, "the request could not be sent in time"),
    ((httpx.ReadTimeout, TimeoutError), "no response in time"),
)
REASONS_WITHOUT_HEAD: Reasons = (
    *REASONS_SENT,
    (ServerDisconnectedError, "it closed the connection"),
    (httpx.RemoteProtocolError, "it sent no HTTP response"),
    (BaseException, "the connection broke"),
)
REASONS_IN_BODY: Reasons = (*REASONS_SENT, (BaseException, CUT_OFF))


_is_ours: ContextVar[bool] = ContextVar("mediakit_is_ours", default=False)


async def translate_errors(work: Awaitable[T], *, in_body: bool = False) -> T:
    """Await an HTTP call and translate its failures to `NoAnswerError`.

    Suppresses the logs of httpcore, which would show signed URLs.
    """
    token = _is_ours.set(True)
    try:
        return await work
    except NoAnswerError:
        raise
    except Exception as error:
        if not _is_transport_error(error):
            raise
        no_answer = _no_answer_from(error, in_body=in_body)
    finally:
        _is_ours.reset(token)
    # Raised outside the except block so that the httpx error, which holds the API key
    # in its request headers, is not chained to it.
    raise no_answer


def _is_transport_error(error: Exception) -> bool:
    kinds = (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError)
    return isinstance(error, (*kinds, OSError)) or _is_of_socks(error)


def _is_of_socks(error: Exception) -> bool:
    """Return whether an error comes from httpx's optional SOCKS library."""
    return type(error).__module__.startswith("socksio.")


def _no_answer_from(error: Exception, *, in_body: bool) -> NoAnswerError:
    cause = error.__cause__
    # httpcore's type is more specific than httpx's.
    precise = cause if isinstance(cause, httpcore.ConnectTimeout) else error
    sent = in_body or not (
        isinstance(precise, RAISED_BEFORE_SENDING) or _is_of_socks(error)
    )
    reasons = REASONS_UNSENT
    if sent:
        reasons = REASONS_IN_BODY if in_body else REASONS_WITHOUT_HEAD
    chain = tuple(_causes(error))
    is_final = (
        any(isinstance(each, FINAL) for each in chain) or str(error) == SOCKS_AUTH
    )
    reason = next(
        words
        for kind, words in reasons
        if any(isinstance(each, kind) for each in chain)
    )
    return NoAnswerError(reason, sent=sent, is_final=is_final)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


class _DropOwnRequests(logging.Filter):
    """Drops the log records of our own requests, whose URLs may be signed."""

    def filter(self, record: logging.LogRecord) -> bool:
        return not _is_ours.get()


for _part in ("connection", "http11", "http2", "proxy", "socks"):
    logging.getLogger(f"httpcore.{_part}").addFilter(_DropOwnRequests())
