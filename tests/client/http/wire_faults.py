"""Malformed responses of a server, as scripts for raw sockets."""

from __future__ import annotations

import gzip
import json
import threading
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.support.servers.scripted_server import Visit, page

Play = Callable[[Visit, bytes], None]
Change = Callable[[bytes], bytes]

SUBMIT, READ, BALANCE, FETCH = OPERATIONS = ("submit", "read", "balance", "fetch")
SECRET = "s3cret"
ELSEWHERE = "/elsewhere"
PATIENT_S = 300.0
SLOW_S = 0.8
IMPATIENT_S = 0.3
PAUSE_S = 0.05
PORTAL = b"<html><h1>Welcome to our Wi-Fi</h1></html>"
HTML = "Content-Type: text/html; charset=utf-8"
HEAD = b"HTTP/1.1 200 OK\r\n"
DEEP = 100_000
MANY = [f"X-{n}: {'a' * 990}" for n in range(100)]


@dataclass(frozen=True)
class Fault:
    """One odd way to answer.

    Args:
        name: What it is.
        play: Sends the malformed response instead of one with the given body.
        succeeds: The operations for which the response is still usable.
        arrives: Whether the service has acted on the request.
        of_json: Whether the fault is in JSON, so that it does not apply to files.
        is_job: Whether the response has a job, although its outcome is unknown.
        at_once: Whether it happens as soon as a connection is open.
        timeout_s: Seconds of silence that the client waits for.
    """

    name: str
    play: Play
    succeeds: tuple[str, ...] = ()
    arrives: bool = True
    of_json: bool = False
    is_job: bool = False
    at_once: bool = False
    timeout_s: float = PATIENT_S


def closes(change: Change) -> Play:
    """Send the correct body as changed by a function, then close."""
    return lambda visit, body: visit.say(change(body))


def resets(change: Change) -> Play:
    """Send the correct body as changed by a function, then reset the connection."""

    def play(visit: Visit, body: bytes) -> None:
        visit.say(change(body))
        threading.Event().wait(PAUSE_S)  # the data arrives before the reset
        visit.reset()

    return play


def waits(change: Change) -> Play:
    """Send the correct body as changed by a function, then send nothing more."""

    def play(visit: Visit, body: bytes) -> None:
        visit.say(change(body))
        visit.wait()

    return play


def trickles(cut: Callable[[bytes], int], pieces: int = 18) -> Play:
    """Send a part of the correct response in pieces, and the rest at once."""

    def play(visit: Visit, body: bytes) -> None:
        whole = page(body)
        begin = cut(whole)
        size = max(1, (len(whole) - begin) // pieces)
        visit.say(whole[:begin])
        for at in range(begin, begin + size * pieces, size):
            visit.say(whole[at : at + size])
            threading.Event().wait(PAUSE_S)
        visit.say(whole[begin + size * pieces :])

    return play


def cut_off(body: bytes) -> bytes:
    """Send nine bytes of the correct body, and its full length."""
    return page(body[:9], says_bytes=len(body))


def after(interim: bytes) -> Change:
    """Send other responses before the correct one."""
    return lambda body: interim + page(body)


def body_at(whole: bytes) -> int:
    """Return where the body of a response begins."""
    return whole.index(b"\r\n\r\n") + 4


def raw(data: bytes) -> Change:
    """Send these bytes, whatever the request."""
    return lambda _: data


def headed(*headers: str, status: str = "200 OK") -> Change:
    """Send the correct body with more headers."""
    return lambda body: page(body, *headers, status=status)


def head_only(*lines: str) -> Change:
    """Send the correct body after these header lines alone."""
    return lambda body: HEAD + "\r\n".join((*lines, "", "")).encode() + body


def lengths(first: int, second: int) -> Change:
    """Send the length of the correct body twice, each time off by a number."""

    def change(body: bytes) -> bytes:
        said = (f"Content-Length: {len(body) + n}" for n in (first, second))
        return head_only(*said)(body)

    return change


def packed(pack: Change, encoding: str) -> Change:
    """Send the correct body as compressed by a function."""
    return lambda body: page(pack(body), f"Content-Encoding: {encoding}")


def holed(body: bytes) -> bytes:
    """Compress a body, and damage it."""
    whole = gzip.compress(body)
    return whole[:12] + b"\xff\xff" + whole[14:]


def chunked(body: bytes) -> bytes:
    """Write a body in one chunk, without the last one."""
    head = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
    return head + f"{len(body):x}\r\n".encode() + body + b"\r\n"


def bad_chunk(body: bytes) -> bytes:
    """Send a chunk with an invalid size."""
    return chunked(body).replace(b"\r\n{", b"z\r\n{")


def gzip_cut_off(body: bytes) -> bytes:
    """Compress a body, and send its first bytes as if it were complete."""
    return gzip.compress(body)[:20]


def lengths_and_chunks(body: bytes) -> bytes:
    """Send a length in addition to chunks."""
    said = b"Content-Length: 3\r\nTransfer-Encoding:"
    return chunked(body).replace(b"Transfer-Encoding:", said) + b"0\r\n\r\n"


def fields(change: Callable[[dict[str, Any]], object]) -> Play:
    """Respond with the correct JSON as changed by a function."""
    return closes(lambda body: page(json.dumps(change(json.loads(body))).encode()))


def main_key(said: dict[str, Any]) -> str:
    """Return the key without which a response is unusable."""
    return next(k for k in ("id", "balance_micro_usd", "upload_url") if k in said)


def without_main(said: dict[str, Any]) -> object:
    """Leave the main key out."""
    return {k: v for k, v in said.items() if k != main_key(said)}


def twice_in(body: bytes) -> bytes:
    """Send the main key twice; the last one counts."""
    return page(f'{{"{main_key(json.loads(body))}": [], '.encode() + body[1:])


def with_text(text: bytes) -> Change:
    """Add a field to the correct JSON object, in these bytes."""
    return lambda body: page(b'{"note": "' + text + b'", ' + body[1:])


def numbers(number: bytes) -> Change:
    """Replace every value with one number."""
    names = (b"id", b"balance_micro_usd", b"upload_url", b"status", b"billing")
    inside = b", ".join(b'"%s": %s' % (name, number) for name in names)
    return raw(page(b"{" + inside + b"}"))


def redirect(status: int, location: str | None) -> Play:
    """Lead elsewhere."""
    headers = () if location is None else (f"Location: {location}",)
    return closes(headed(*headers, status=f"{status} Go"))


BROKEN = [
    Fault("a head that is cut off", closes(raw(HEAD + b"Content-Le"))),
    Fault("a body that is cut off", closes(cut_off)),
    Fault("a body that stops", waits(cut_off), timeout_s=IMPATIENT_S),
    Fault("chunks without an end", closes(chunked)),
    Fault("chunks that stop", waits(chunked), timeout_s=IMPATIENT_S),
    Fault("a bad chunk size", closes(bad_chunk)),
    Fault("a slow head", trickles(lambda _: 0), OPERATIONS, timeout_s=SLOW_S),
    Fault("a body that trickles", trickles(body_at), OPERATIONS, timeout_s=SLOW_S),
    Fault("silence", waits(raw(b"")), timeout_s=IMPATIENT_S),
    Fault("a close before the answer", closes(raw(b""))),
    Fault("a reset before the request", resets(raw(b"")), arrives=False, at_once=True),
    Fault("a reset after the request", resets(raw(b""))),
    Fault("a reset in the head", resets(raw(HEAD + b"Content-Le"))),
    Fault("a reset in the body", resets(cut_off)),
]
ENCODED = [
    Fault("gzip", closes(packed(gzip.compress, "gzip")), OPERATIONS),
    Fault("gzip that is damaged", closes(packed(holed, "gzip"))),
    Fault("gzip that is cut off", closes(packed(gzip_cut_off, "gzip"))),
    Fault("gzip that is none", closes(headed("Content-Encoding: gzip"))),
    Fault("deflate", closes(packed(zlib.compress, "deflate")), OPERATIONS),
    Fault("br", closes(packed(raw(b"\x8b\x02\x80\x00\x03"), "br"))),
    Fault("an unknown encoding", closes(packed(raw(b"\x00\x01"), "x-tied"))),
]
FRAMED = [
    Fault("no length until the close", closes(head_only("Server: a")), OPERATIONS),
    Fault("equal lengths", closes(lengths(0, 0)), (FETCH,)),
    Fault("different lengths", closes(lengths(0, -3))),
    Fault("a negative length", closes(head_only("Content-Length: -5"))),
    Fault("a huge length", closes(head_only(f"Content-Length: {10**30}"))),
    Fault("a length beside chunks", closes(lengths_and_chunks)),
    Fault("100 before it", closes(after(b"HTTP/1.1 100 C\r\n\r\n")), OPERATIONS),
    Fault(
        "103 before it",
        closes(after(b"HTTP/1.1 103 E\r\nLink: </a>\r\n\r\n")),
        OPERATIONS,
    ),
    Fault(
        "several 1xx before it",
        closes(after(b"HTTP/1.1 102 P\r\n\r\n" * 3)),
        OPERATIONS,
    ),
    Fault("101", closes(headed("Upgrade: tea", "Connection: upgrade", status="101 S"))),
    Fault("HTTP/0.9", closes(lambda b: b)),
    Fault("the preface of HTTP/2", closes(raw(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))),
    Fault("a frame of HTTP/2", closes(raw(b"\0\0\6\4\0\0\0\0\0\0\3\0\0\0d"))),
    Fault("a banner of SSH", closes(raw(b"SSH-2.0-OpenSSH_9.6\r\n"))),
    Fault("a header without a colon", closes(headed("Server a"))),
    Fault("a header with a NUL", closes(headed("Server: a\0b"))),
    Fault("100 kB of headers", closes(headed(*MANY)), OPERATIONS),
    Fault("two answers at once", closes(lambda b: page(b) + page(b"{}")), OPERATIONS),
]
WRITTEN = [
    Fault("a byte order mark", closes(lambda b: page(b"\xef\xbb\xbf" + b)), OPERATIONS),
    Fault("UTF-16", closes(lambda b: page(b.decode().encode("utf-16"))), OPERATIONS),
    Fault("latin-1", closes(with_text("é".encode("latin-1")))),
    Fault("invalid UTF-8", closes(with_text(b"\xed\xa0\x80\xf5"))),
    Fault("NUL bytes", closes(lambda b: page(b + bytes(40)))),
    Fault("deep lists", closes(raw(page(b"[" * DEEP)))),
    Fault("deep objects", closes(raw(page(b'{"id":' * DEEP)))),
    Fault("huge numbers", closes(numbers(b"9" * 5_000))),
    Fault("a huge power", closes(numbers(b"1e999"))),
    Fault("NaN", closes(numbers(b"NaN"))),
    Fault("a key twice", closes(twice_in), OPERATIONS),
    Fault("a string at the top", fields(lambda _: "ok")),
    Fault("a number at the top", fields(lambda _: 3)),
    Fault("null at the top", fields(lambda _: None)),
    Fault("a list at the top", fields(lambda said: [said])),
    Fault("no id", fields(without_main)),
    Fault("an id of the wrong type", fields(lambda s: {**s, main_key(s): {"a": 1}})),
    Fault("an empty id", fields(lambda s: {**s, main_key(s): ""})),
    Fault(
        "an unknown status",
        fields(lambda said: {**said, "status": "paused"}),
        OPERATIONS,
        is_job=True,
    ),
]
ANSWERED = [
    Fault("200 without a body", closes(raw(page(b"")))),
    Fault("202", closes(headed(status="202 Accepted")), (SUBMIT, READ)),
    Fault("204", closes(raw(b"HTTP/1.1 204 No Content\r\n\r\n"))),
    Fault("301 to another host", redirect(301, f"http://127.0.0.1:9/b?c={SECRET}")),
    Fault("302 to a path", redirect(302, f"{ELSEWHERE}?c={SECRET}"), (FETCH,)),
    Fault("303 to nowhere", redirect(303, None)),
    Fault("307 to what is no URL", redirect(307, f"http://[{SECRET}:x/")),
    Fault("308 to itself", redirect(308, "")),
    Fault("the page of a portal", closes(raw(page(PORTAL, HTML))), arrives=False),
    Fault("407", closes(raw(page(PORTAL, HTML, status="407 Who"))), arrives=False),
    Fault("511", closes(raw(page(PORTAL, HTML, status="511 Log in"))), arrives=False),
]
FAULTS = [
    *BROKEN,
    *ENCODED,
    *FRAMED,
    *(Fault(**{**vars(each), "of_json": True}) for each in WRITTEN),
    *ANSWERED,
]
