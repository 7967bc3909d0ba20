"""Hostile files and servers."""

import struct
import threading
import zlib
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.support.servers.loopback import LoopbackServer

LINK_LOCAL = "http://169.254.169.254/latest/meta-data"
_MATRIX = struct.pack(">9I", 0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000)


def bomb_png(side_px: int) -> bytes:
    """Make a tiny file of a picture with a huge number of pixels."""
    row = b"\0" * (1 + -(-side_px // 8))
    return _png((side_px, side_px, 1, 0), _zeros(row, side_px))


def bomb_text_png(text_bytes: int) -> bytes:
    """Make a small picture with a comment that decompresses to a huge size."""
    comment = b"Comment\0\0" + _zeros(bytes(1_000_000), text_bytes // 1_000_000)
    pixels = zlib.compress(b"\0" * 72)
    return _png((8, 8, 8, 0), pixels, _chunk(b"zTXt", comment))


def bomb_mp4(samples: int, tracks: int = 1) -> bytes:
    """Make a file of a few hundred bytes that declares millions of frames.

    The table that lists them is so small because all frames are of one size and
    length; a reader of the file unpacks it to 24 bytes a frame, for each track.
    """
    kind = _box(b"ftyp", b"isom", struct.pack(">I", 512), b"isommp41")
    media = _box(b"mdat", bytes(64))
    times = struct.pack(">IIII", 0, 0, 1_000, 5_000)
    movie = _versioned(
        b"mvhd",
        times + struct.pack(">IH", 0x10000, 0x100) + bytes(10),
        _MATRIX + bytes(24) + struct.pack(">I", 2),
    )
    track = _track(samples, offset=len(kind) + 8)
    return kind + media + _box(b"moov", movie, *[track] * tracks)


def _track(samples: int, offset: int) -> bytes:
    head = _versioned(
        b"tkhd",
        struct.pack(">IIIII", 0, 0, 1, 0, 5_000) + bytes(16) + _MATRIX,
        struct.pack(">II", 640 << 16, 360 << 16),
    )
    entry = _box(
        b"mp4v",
        bytes(6) + struct.pack(">H", 1) + bytes(16) + struct.pack(">HH", 640, 360),
        bytes(12) + struct.pack(">H", 1) + bytes(32) + struct.pack(">Hh", 24, -1),
    )
    table = _box(
        b"stbl",
        _versioned(b"stsd", struct.pack(">I", 1), entry),
        _versioned(b"stts", struct.pack(">III", 1, samples, 1)),
        _versioned(b"stsc", struct.pack(">IIII", 1, 1, samples, 1)),
        _versioned(b"stsz", struct.pack(">II", 1, samples)),
        _versioned(b"stco", struct.pack(">II", 1, offset)),
    )
    media = _box(
        b"mdia",
        _versioned(b"mdhd", struct.pack(">IIIII", 0, 0, 1_000, 5_000, 0x55C40000)),
        _versioned(b"hdlr", bytes(4) + b"vide" + bytes(12) + b"v\0"),
        _box(b"minf", _versioned(b"vmhd", bytes(8)), table),
    )
    return _box(b"trak", head, media)


def _png(head: tuple[int, int, int, int], pixels: bytes, *further: bytes) -> bytes:
    return b"".join(
        (
            b"\x89PNG\r\n\x1a\n",
            _chunk(b"IHDR", struct.pack(">IIBB", *head) + bytes(3)),
            *further,
            _chunk(b"IDAT", pixels),
            _chunk(b"IEND", b""),
        )
    )


def _chunk(name: bytes, content: bytes) -> bytes:
    checked = struct.pack(">I", zlib.crc32(name + content))
    return struct.pack(">I", len(content)) + name + content + checked


def _zeros(piece: bytes, times: int) -> bytes:
    packer = zlib.compressobj(1)
    packed = [packer.compress(piece) for _ in range(times)]
    return b"".join((*packed, packer.flush()))


def _box(name: bytes, *parts: bytes) -> bytes:
    content = b"".join(parts)
    return struct.pack(">I", 8 + len(content)) + name + content


def _versioned(name: bytes, *parts: bytes) -> bytes:
    return _box(name, bytes(4), *parts)


class _Hostile(BaseHTTPRequestHandler):
    """Serves `/fast` and `/slow` endlessly, `/silent` never, and redirects `/away`."""

    server: "HostileServer"

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        if self.path.startswith("/away"):
            self.send_response(302)
            self.send_header("Location", LINK_LOCAL)
            self.end_headers()
            return
        with suppress(OSError):
            if not self.path.startswith("/silent"):
                self.send_response(200)
                self.end_headers()
            self._proceed()

    def _proceed(self) -> None:
        fast = self.path.startswith("/fast")
        piece = bytes(64 * 1024) if fast else b"x"
        while not self.server.over.wait(0 if fast else 0.02):
            if not self.path.startswith("/silent"):
                self.wfile.write(piece)

    def log_message(self, format: str, *args: object) -> None:
        pass


class HostileServer(LoopbackServer):
    """A local web server with responses that never end."""

    def __init__(self) -> None:
        super().__init__(handler=_Hostile)
        self.over = threading.Event()
        self.asked: list[str] = []

    def __exit__(self, *problem: Any) -> None:
        self.over.set()
        super().__exit__(*problem)
