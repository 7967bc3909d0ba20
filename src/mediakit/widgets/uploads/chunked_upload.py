"""Receives an uploaded file from the browser in chunks.

The page offers a file, with its name, length and type. The kernel refuses it in a
sentence, or asks for its first piece, and for each further one when the one before has
been written. So one piece is under way at a time, whatever the file's length: the
kernel's memory stays flat, no message comes near a server's limit, and a slow disk
slows the page.

    page    {kind: "offer", id, name, size, type, ...}
    kernel  {kind: "refused", id, text}     or     {kind: "want", id, at, length}
    page    {kind: "piece", id, at} and a buffer   or   {kind: "cancel", id}
    kernel  {kind: "done", id, path, name}
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from mediakit.widgets.uploads.upload_folder import IncomingFile, UploadFolder, own_name

PIECE_BYTES = 1 << 19
"""Some front ends lose messages of 1 MB; more than this makes nothing faster."""

Work = Callable[[Callable[[], Any], Callable[[Any], object]], object]
"""Does something on a worker thread, and hands over what it returns."""


class Receiver:
    """Takes files that a page sends through one widget."""

    def __init__(
        self,
        send: Callable[[dict[str, object]], object],
        folder: UploadFolder,
        work: Work,
        *,
        check: Callable[[Mapping[str, Any]], str | None],
    ) -> None:
        self._send = send
        self._folder = folder
        self._work = work
        self._check = check  # returns why an offered file is refused, if it is
        self._incoming: dict[str, IncomingFile] = {}

    def on_message(
        self, content: Mapping[str, Any], buffers: Sequence[memoryview]
    ) -> None:
        upload = str(content.get("id"))
        match content.get("kind"):
            case "offer":
                self._offered(upload, content)
            case "piece":
                self._came(upload, content.get("at"), buffers)
            case "cancel":
                self._cancel(upload)

    def close(self) -> None:
        for upload in tuple(self._incoming):
            self._cancel(upload)

    def _offered(self, upload: str, content: Mapping[str, Any]) -> None:
        name, size_bytes = str(content["name"]), int(content["size"])
        problem = self._check(content)
        if problem is not None:
            self._refuse(upload, problem)
            return
        file = self._incoming[upload] = IncomingFile(self._folder, name, size_bytes)
        self._write(upload, file, file.begin)

    def _came(self, upload: str, at: object, buffers: Sequence[memoryview]) -> None:
        file = self._incoming.get(upload)
        if file is None:
            return  # it was cancelled meanwhile
        content = memoryview(buffers[0]).cast("B") if buffers else memoryview(b"")
        fits = (
            0 < len(content) <= min(PIECE_BYTES, file.size_bytes - file.written_bytes)
        )
        if at != file.written_bytes or not fits:
            self._fail(upload, file, "it was damaged on the way")
            return
        self._write(upload, file, lambda: file.write(content))

    def _write(
        self, upload: str, file: IncomingFile, step: Callable[[], Path | None]
    ) -> None:
        def work() -> Path | OSError | None:
            try:
                return step()
            except OSError as error:
                return error

        self._work(work, lambda found: self._written(upload, file, found))

    def _written(
        self, upload: str, file: IncomingFile, found: Path | OSError | None
    ) -> None:
        if file.is_discarded:
            return
        if isinstance(found, OSError):
            self._fail(upload, file, found.strerror or str(found))
        elif found is not None:
            del self._incoming[upload]
            name = own_name(str(found)) or found.name
            done = {"kind": "done", "path": str(found), "name": name}
            self._send({"id": upload, **done})
        else:
            length = min(PIECE_BYTES, file.size_bytes - file.written_bytes)
            wanted = {"kind": "want", "at": file.written_bytes, "length": length}
            self._send({"id": upload, **wanted})

    def _cancel(self, upload: str) -> None:
        file = self._incoming.pop(upload, None)
        if file is not None:
            file.discard()

    def _fail(self, upload: str, file: IncomingFile, why: str) -> None:
        self._cancel(upload)
        self._refuse(upload, f"{file.name} was not uploaded: {why}.")

    def _refuse(self, upload: str, text: str) -> None:
        self._send({"kind": "refused", "id": upload, "text": text})
