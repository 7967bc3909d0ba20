"""Files to and from the service: streamed, whole or not at all, without the key."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO
from urllib.parse import urlsplit
from uuid import uuid4

import httpx
from anyio import to_thread

from mediakit.client.answers import error_of, parse
from mediakit.client.transport import Answer, NoAnswerError, Transport
from mediakit.clock import Clock
from mediakit.errors import GoneError, InputError, ServiceError
from mediakit.records import UploadGrant
from mediakit.schema import canonical_json

CHUNK_BYTES = 1 << 18
UPLOADS_PATH = "/v1/media/uploads"


@dataclass(frozen=True)
class Fingerprint:
    """What a file held when it was hashed.

    Args:
        sha256: The hash of its bytes, in hex.
        size_bytes: Its length.
        changed_ns: When it was last changed.
    """

    sha256: str
    size_bytes: int
    changed_ns: int


def fingerprint(path: Path) -> Fingerprint:
    """Hash a file, reading it once in pieces."""
    digest = sha256()
    with path.open("rb") as file:
        while piece := file.read(CHUNK_BYTES):
            digest.update(piece)
        stat = os.fstat(file.fileno())
    return Fingerprint(digest.hexdigest(), stat.st_size, stat.st_mtime_ns)


class Files:
    """Uploads and downloads of one client.

    Args:
        transport: Asks for grants, and gives clients that never carry the key.
        clock: For errors that name an instant.
    """

    def __init__(self, transport: Transport, clock: Clock) -> None:
        self._transport = transport
        self._clock = clock

    async def put(
        self, path: Path, content_type: str, print_: Fingerprint, field: str
    ) -> str:
        """Upload a file under a grant, asking once more when the grant expired.

        Returns:
            The permanent URL (spec 2.3).

        Raises:
            InputError: The file changed meanwhile, or the service refuses it.
            ServiceError: The upload did not go through.
        """
        for last_try in (False, True):
            grant = await self._grant(content_type, print_.size_bytes)
            status = await self._put(path, grant, print_, field)
            if 200 <= status < 300:
                return grant.url
            if status != 403 or last_try:
                break
        raise ServiceError(
            f"{field}: the storage refused {path.name} ({status}). The request that "
            "needed it was not sent; nothing is charged.",
            status=status,
        )

    async def _grant(self, content_type: str, size_bytes: int) -> UploadGrant:
        body = {"content_type": content_type, "size_bytes": size_bytes}
        content = canonical_json(body)

        async def once() -> Answer:
            return await self._transport.exchange("POST", UPLOADS_PATH, content=content)

        try:
            # A grant that is never used costs nothing, so it may be asked for twice.
            answer = await self._transport.again(once, for_s=10.0)
        except NoAnswerError as error:
            raise self._transport.silence(error) from error
        if answer.status != 200:
            raise error_of(answer, "an upload", self._clock)
        return parse(UploadGrant, answer)

    async def _put(
        self, path: Path, grant: UploadGrant, print_: Fingerprint, field: str
    ) -> int:
        headers = {"Content-Length": str(print_.size_bytes), **grant.headers}
        try:
            async with self._transport.bare() as http:
                with path.open("rb") as file:
                    _refuse_change(file, path, print_, field)
                    response = await http.put(
                        grant.upload_url, headers=headers, content=_pieces(file)
                    )
                    _refuse_change(file, path, print_, field)
        except httpx.LocalProtocolError:
            raise _changed(path, field) from None
        except httpx.TransportError as error:
            # The message of a transport error may hold the signed URL.
            raise ServiceError(
                f"{field}: {path.name} could not be uploaded "
                f"({type(error).__name__}). The request that needed it was not sent."
            ) from None
        return response.status_code

    async def fetch(self, url: str, take: Callable[[bytes], None]) -> None:
        """Stream a file of the service, giving each piece to a function.

        Raises:
            GoneError: It is not there any more.
            ServiceError: It could not be fetched whole.
        """
        try:
            async with (
                self._transport.bare() as http,
                http.stream("GET", url) as response,
            ):
                _raise_for_file(response)
                async for piece in response.aiter_bytes():
                    take(piece)
        except (httpx.TransportError, httpx.InvalidURL) as error:
            raise ServiceError(
                f"The file could not be fetched whole ({type(error).__name__}); "
                "nothing was kept. The job still has it: try again."
            ) from None

    async def save(self, url: str, target: Path) -> None:
        """Fetch a file so that it appears under its name only when it is whole.

        Raises:
            GoneError: It is not there any more.
            ServiceError: It could not be fetched whole.
        """
        part = target.with_name(f".{target.name}.{uuid4().hex[:8]}.part")
        try:
            with part.open("wb") as file:
                await self.fetch(url, lambda piece: _write(file, piece))
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)


def _write(file: BinaryIO, piece: bytes) -> None:
    file.write(piece)


def _raise_for_file(response: httpx.Response) -> None:
    if response.status_code in (404, 410):
        raise GoneError("The file is not there any more.", status=response.status_code)
    if response.status_code != 200:
        raise ServiceError(
            f"The file could not be fetched ({response.status_code}).",
            status=response.status_code,
        )


async def _pieces(file: BinaryIO) -> AsyncIterator[bytes]:
    while piece := await to_thread.run_sync(file.read, CHUNK_BYTES):
        yield piece


def _refuse_change(file: BinaryIO, path: Path, print_: Fingerprint, field: str) -> None:
    stat = os.fstat(file.fileno())
    if (stat.st_size, stat.st_mtime_ns) != (print_.size_bytes, print_.changed_ns):
        raise _changed(path, field)


def _changed(path: Path, field: str) -> InputError:
    return InputError(
        field,
        got=f"{path} (changed while it was sent)",
        accepted="a file that stays as it is until it is uploaded",
        sent="The request that needed it was not sent; nothing is charged.",
    )


def target_of(path: str | Path | None, url: str, name: str, *, overwrite: bool) -> Path:
    """Return where a download goes.

    Args:
        path: What was asked for: a file, a folder, or nothing.
        url: Where it comes from; gives the suffix.
        name: Its name when only a folder is known.
        overwrite: Whether a file that is there may be replaced.

    Raises:
        InputError: A file is there and may not be replaced, or the folder is missing.
    """
    suffix = Path(urlsplit(url).path).suffix
    chosen = Path.cwd() if path is None else Path(path).expanduser()
    target = chosen / f"{name}{suffix}" if chosen.is_dir() else chosen
    if not target.parent.is_dir():
        raise InputError(
            "path", got=str(target.parent), accepted="a folder that exists"
        )
    if target.exists() and not overwrite:
        accepted = "a new name, or overwrite=True"
        raise InputError("path", got=f"{target} (it exists)", accepted=accepted)
    return target
