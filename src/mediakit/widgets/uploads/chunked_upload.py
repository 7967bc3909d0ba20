"""Receives an uploaded file from the browser in chunks.

The page offers a file, with its name, length and type. The kernel refuses the file with
a sentence, or requests the first piece, and each further piece when the previous piece
has been written. So one piece is in flight at a time, whatever the file's length: the
kernel's memory stays flat, no message comes near a server's limit, and a slow disk
slows the page.

    page    {kind: "offer", id, name, size, type, ...}
    kernel  {kind: "refused", id, text}     or     {kind: "want", id, at, length}
    page    {kind: "piece", id, at} and a buffer   or   {kind: "cancel", id}
    kernel  {kind: "done", id, path, name}

A page that is loaded while a file arrives may be the reloaded sender. It sends `{kind:
"loaded"}`; if no further piece of a file arrives, the upload is abandoned with a
message.
"""

from __future__ import annotations

from asyncio import Queue
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from anyio import to_thread

from mediakit.clock import Clock
from mediakit.widgets.uploads.upload_folder import IncomingFile, UploadFolder, own_name

PIECE_BYTES = 1 << 19
"""Some front ends lose messages of 1 MB; more than this makes nothing faster."""
PAGE_PATIENCE_S = 5.0
"""How long an open page may take to send a piece."""
CUT_OFF = (
    "{} did not arrive, because the page was left, closed or reloaded during the "
    "upload. Choose the file again."
)

Piece = tuple[object, memoryview]
"""The offset of a piece in its file, as sent by the page, and its bytes."""


@dataclass
class _Arrival:
    """A file that is being received."""

    name: str
    pieces: Queue[Piece | None] = field(default_factory=Queue)
    count: int = 0  # the pieces received so far


class ChunkReceiver:
    """Receives files that a page sends through one widget."""

    def __init__(
        self,
        send: Callable[[dict[str, object]], object],
        folder: UploadFolder,
        run: Callable[[Callable[[], Awaitable[object]]], object],  # on the I/O thread
        *,
        check: Callable[[Mapping[str, Any]], str | None],
        clock: Clock,
        show: Callable[[list[str]], object],
        say: Callable[[str], object],
    ) -> None:
        self._send = send
        self._folder = folder
        self._run = run
        self._check = check  # returns why an offered file is refused, or nothing
        self._clock = clock
        self._show = show  # shows the names of incoming files on the page
        self._say = say  # reports errors
        self._incoming: dict[str, _Arrival] = {}

    def on_message(
        self, content: Mapping[str, Any], buffers: Sequence[memoryview]
    ) -> None:
        upload = str(content.get("id"))
        match content.get("kind"):
            case "offer":
                self._run(partial(self._receive, upload, content))
            case "piece":
                piece_bytes = memoryview(buffers[0]) if buffers else memoryview(b"")
                piece = content.get("at"), piece_bytes.cast("B")
                self._run(partial(self._enqueue_piece, upload, piece))
            case "cancel":
                self._run(partial(self._enqueue_piece, upload, None))
            case "loaded":
                self._run(self._give_up_silent)

    def close(self) -> None:
        for upload in tuple(self._incoming):
            self._run(partial(self._enqueue_piece, upload, None))

    async def _enqueue_piece(self, upload: str, piece: Piece | None) -> None:
        """Pass on a piece, or None for the end; the upload may be cancelled."""
        if upload in self._incoming:
            arrival = self._incoming[upload]
            arrival.count += 1
            arrival.pieces.put_nowait(piece)

    async def _give_up_silent(self) -> None:
        """Give up files whose page sends no further piece."""
        counts = {upload: each.count for upload, each in self._incoming.items()}
        await self._clock.sleep(PAGE_PATIENCE_S)
        for upload, count in counts.items():
            arrival = self._incoming.get(upload)
            if arrival is not None and arrival.count == count:
                arrival.pieces.put_nowait(None)
                self._say(CUT_OFF.format(arrival.name))

    def _show_arriving(self) -> None:
        self._show([each.name for each in self._incoming.values()])

    async def _receive(self, upload: str, offer: Mapping[str, Any]) -> None:
        name, size_bytes = str(offer["name"]), int(offer["size"])
        problem = self._check(offer)
        if problem is not None:
            self._send({"kind": "refused", "id": upload, "text": problem})
            return
        file = IncomingFile(self._folder, name, size_bytes)
        arrival = self._incoming[upload] = _Arrival(name)
        self._show_arriving()
        path = None
        try:
            await to_thread.run_sync(file.begin)
            while path is None:
                at = file.written_bytes
                length = min(PIECE_BYTES, size_bytes - at)
                self._send({"kind": "want", "id": upload, "at": at, "length": length})
                piece = await arrival.pieces.get()
                if piece is None:
                    return
                if piece[0] != at or not 0 < len(piece[1]) <= length:
                    raise OSError("it was damaged on the way")
                path = await to_thread.run_sync(file.write, piece[1])
            kept_name = own_name(str(path)) or path.name
            done = {"kind": "done", "path": str(path), "name": kept_name}
            self._send({"id": upload, **done})
        except OSError as error:
            text = f"{name} was not uploaded: {error.strerror or error}."
            self._send({"kind": "refused", "id": upload, "text": text})
        finally:
            del self._incoming[upload]
            self._show_arriving()
            file.discard()
