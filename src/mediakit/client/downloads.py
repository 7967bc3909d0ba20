"""Downloads results: saves them with a sidecar, or streams them."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, suppress
from dataclasses import dataclass
from hashlib import sha256
from http import HTTPStatus
from io import SEEK_END, BufferedReader
from pathlib import Path
from typing import BinaryIO, TypeVar

import anyio
from anyio import to_thread

from mediakit.client.account_history import AccountHistory
from mediakit.client.decompression import UNPACKED, compressions_in, unpacked
from mediakit.client.download_targets import (
    DownloadTarget,
    LocalTarget,
    NameTakenError,
    target_of,
    unwritable,
)
from mediakit.client.http import BLOCK_BYTES, HttpClient, StreamedResponse
from mediakit.client.job_state import JobState
from mediakit.client.media_inputs import MediaNames
from mediakit.client.posters import PreviewCache
from mediakit.client.progress import TransferProgress
from mediakit.client.recipes import Edit, edits_of, recipe_of, write_edits
from mediakit.client.responses import NoAnswerError
from mediakit.client.retries import jittered_backoff_s
from mediakit.client.service import Service
from mediakit.client.sidecar import SUFFIX, Sidecar, parse_sidecar, sidecar_of
from mediakit.client.uploads import fingerprint
from mediakit.clock import Clock
from mediakit.errors import GoneError, ServiceError
from mediakit.history import History, uploads
from mediakit.media.bodies import urls_in
from mediakit.media.remote import LIMIT_S, RemoteFile, read_remote
from mediakit.rules import all_of

FILES_AT_ONCE = 4
TRIES = 5
# On a slow connection, bytes are passed on before a block is full.
PASS_ON_AFTER_S = 0.1
# How storages reject an expired signed URL.
EXPIRED = {400, 401, 403, 404, 410}
_RANGE = re.compile(r"bytes (\d+)-\d+/\d+")

T = TypeVar("T")


@dataclass(frozen=True)
class Piece:
    """Some bytes of a file and their offset; offset 0 restarts the file.

    `total_bytes` is the length of the file; None if unknown.
    """

    at_bytes: int
    content: bytes
    total_bytes: int | None


Sink = Callable[[Piece], object]
ReadUrl = Callable[[], Awaitable[str]]
"""Reads a job again, and returns the URL of its output."""


async def pieces_of(
    url: str, http: HttpClient, clock: Clock, *, read_url: ReadUrl | None = None
) -> AsyncGenerator[Piece, None]:
    """Yield a file in pieces of about a megabyte.

    After a broken connection, the download resumes if the server sends a strong ETag,
    and otherwise restarts. If the server then rejects the URL, whose signature may have
    expired, a fresh URL is read.
    """
    url_is_fresh = True
    etag: str | None = None
    total_bytes: int | None = None
    done_bytes = furthest_bytes = tries = 0
    while True:
        headers = {"Accept-Encoding": "identity"}
        if etag is None:
            done_bytes = 0
        elif done_bytes:
            headers |= {"Range": f"bytes={done_bytes}-", "If-Range": etag}
        try:
            async with http.get(url, headers=headers) as response:
                if not _continues(response, etag, done_bytes):
                    if read_url and not url_is_fresh and response.status in EXPIRED:
                        url, url_is_fresh = await read_url(), True
                        continue
                    etag, done_bytes = None, 0
                    _refuse_other(response)
                    etag, total_bytes = _version(response)
                async with aclosing(_content(response, clock)) as blocks:
                    async for block in blocks:
                        yield Piece(done_bytes, block, total_bytes)
                        done_bytes += len(block)
            if not done_bytes:
                raise NoAnswerError("the answer was empty", sent=True)
            if total_bytes not in (None, done_bytes):
                etag = None
                raise NoAnswerError(
                    "its size is not what the server reported", sent=True
                )
        except NoAnswerError as error:
            tries = 1 if done_bytes > furthest_bytes else tries + 1
            furthest_bytes = max(furthest_bytes, done_bytes)
            url_is_fresh = False
            if error.is_final or tries == TRIES:
                raise ServiceError(
                    f"The file could not be fetched completely ({error.reason}). The "
                    "service still has it; the same call fetches it again."
                ) from None
        else:
            return
        await clock.sleep(jittered_backoff_s(tries))


async def _content(
    response: StreamedResponse, clock: Clock
) -> AsyncGenerator[bytes, None]:
    """Yield the bytes of the file, decompressed."""
    async with aclosing(_blocks(response, clock)) as blocks:
        packed = _is_packed(response)
        async with aclosing(unpacked(blocks) if packed else blocks) as content:
            async for block in content:
                yield block


def _is_packed(response: StreamedResponse) -> bool:
    """Return whether the body is compressed; a mock transport may have read it."""
    labels = compressions_in(response.header("Content-Encoding"))
    return bool(labels) and not response.is_read


async def _blocks(
    response: StreamedResponse, clock: Clock
) -> AsyncGenerator[bytes, None]:
    """Join the chunks of a response, including those before a broken connection."""
    waiting, since_s = bytearray(), clock.monotonic_s()
    broken: NoAnswerError | None = None
    try:
        async for piece in response.iter_raw():
            waiting += piece
            is_late = clock.monotonic_s() - since_s >= PASS_ON_AFTER_S
            if is_late or len(waiting) >= BLOCK_BYTES:
                yield bytes(waiting)
                waiting, since_s = bytearray(), clock.monotonic_s()
    except NoAnswerError as error:
        broken = error
    if waiting:
        yield bytes(waiting)
    if broken is not None:
        raise broken


def _version(response: StreamedResponse) -> tuple[str | None, int | None]:
    """Return the strong ETag and the length of a file, or None if there is none.

    A compressed response has neither: its ranges and length are not the file's.
    """
    if _is_packed(response):
        return None, None
    etag = response.header("ETag")
    is_weak = etag is None or etag.startswith("W/")
    return None if is_weak else etag, response.size_bytes


def _continues(response: StreamedResponse, etag: str | None, done_bytes: int) -> bool:
    """Return whether a response continues the same version of the file."""
    if not done_bytes or response.status != HTTPStatus.PARTIAL_CONTENT:
        return False
    content_range = _RANGE.fullmatch(response.header("Content-Range") or "")
    same_version = response.header("ETag") in (None, etag)
    return (
        same_version
        and content_range is not None
        and int(content_range[1]) == done_bytes
    )


def _refuse_other(response: StreamedResponse) -> None:
    """Reject a response that is not a whole file."""
    status = response.status
    if status in (HTTPStatus.NOT_FOUND, HTTPStatus.GONE):
        raise GoneError("The file no longer exists.", status=status)
    may_pass = status >= 500 or status in (
        HTTPStatus.PARTIAL_CONTENT,
        HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE,
        HTTPStatus.TOO_MANY_REQUESTS,
    )
    if may_pass:
        raise NoAnswerError(f"the answer was {status}", sent=True)
    if status != HTTPStatus.OK:
        raise ServiceError(f"The file could not be fetched ({status}).", status=status)
    labels = compressions_in(response.header("Content-Encoding"))
    if len(labels) > 1 or not UNPACKED.issuperset(labels):
        raise ServiceError(
            "The file could not be fetched: the server sent it compressed "
            f"({all_of(labels)}), although it was asked not to. To save it with a "
            "browser, open job.url there."
        )
    kind = (response.header("Content-Type") or "").partition(";")[0].strip()
    if kind.lower() == "text/html":
        raise ServiceError(
            "The file could not be fetched: the server returned a web page instead. "
            "You may need to sign in to this network first; then try again."
        )


class _PartialFile:
    """The bytes received so far, in a temporary file beside the destination."""

    def __init__(self, target: DownloadTarget) -> None:
        self._path = target.new_part()
        self._file = self._path.open("wb", buffering=0)
        self._hash = sha256()

    def write(self, piece: Piece) -> None:
        """Write the next bytes; offset 0 discards all others."""
        if not piece.at_bytes:
            self._file.seek(0)
            self._file.truncate()
            self._hash = sha256()
        self._hash.update(piece.content)
        view = memoryview(piece.content)
        while view:
            view = view[self._file.write(view) :]

    def close(self) -> Path:
        """Close the file, and return its path."""
        self._file.close()
        return self._path

    @property
    def facts(self) -> dict[str, object]:
        """Return the file's size and hash, as a sidecar records them."""
        return {"size_bytes": self._file.tell(), "sha256": self._hash.hexdigest()}

    def add(self, packet: bytes) -> dict[str, object]:
        """Insert a metadata packet, if the format supports it.

        Returns the facts of the new file, and of the file as it was delivered.
        """
        path = self.close()
        size_bytes = path.stat().st_size
        with path.open("rb") as file:
            edits = edits_of(file, size_bytes, packet)
        if not edits:
            return {}
        edited = path.with_name(f"{path.name}.recipe")
        with edited.open("wb") as target:
            write_edits(path, edits, target)
        edited.replace(path)
        whole = fingerprint(path)
        return {
            "size_bytes": whole.size_bytes,
            "sha256": whole.sha256,
            "delivered_size_bytes": size_bytes,
            "delivered_sha256": self._hash.hexdigest(),
        }

    def discard(self) -> None:
        """Delete the temporary file, unless it was renamed."""
        self.close().unlink(missing_ok=True)


class Outputs:
    """The outputs of one client's jobs."""

    def __init__(
        self,
        http: HttpClient,
        account_history: AccountHistory,
        service: Service,
        clock: Clock,
        progress: TransferProgress,
        preview_cache: PreviewCache,
        names: MediaNames,
    ) -> None:
        self._http = http
        self._account_history = account_history
        self._service = service
        self._clock = clock
        self._progress = progress
        self.preview_cache = preview_cache
        self.names = names
        self._slots = anyio.CapacityLimiter(FILES_AT_ONCE)

    async def save(
        self,
        read_url: ReadUrl,
        state_now: Callable[[], JobState],
        path: str | Path | None,
        *,
        overwrite: bool,
        recipe: bool,
    ) -> Path | str:
        """Save a job's output from its URL; see `AsyncJob.download`."""
        async with self._slots:
            # Read only now: the signature of a URL may not last as long as the wait.
            url = await read_url()
            how = {"overwrite": overwrite, "recipe": recipe}
            return await self._save(state_now(), url, read_url, path, **how)

    async def _save(
        self,
        state: JobState,
        url: str,
        read_url: ReadUrl,
        path: str | Path | None,
        *,
        overwrite: bool,
        recipe: bool,
    ) -> Path | str:
        await self.names.learn(state.entry)
        target = await to_thread.run_sync(target_of, path, state.file_name(url))
        try:
            if overwrite or not await to_thread.run_sync(self._is_kept, target, state):
                part = await to_thread.run_sync(_PartialFile, target)
                try:
                    await self._pass_on(url, target.name, part.write, read_url)
                    how = {"overwrite": overwrite, "recipe": recipe}
                    await self._publish(state, target, part, **how)
                finally:
                    with anyio.CancelScope(shield=True):
                        await to_thread.run_sync(part.discard)
        except OSError as error:
            raise unwritable(target.place, error) from None
        return target.place

    def _is_kept(self, target: DownloadTarget, state: JobState) -> bool:
        """Return whether the complete result exists; update a charge that settled.

        Any other file at its place, or at its sidecar's, is an error.
        """
        beside = _beside(target)
        content, size_bytes = beside.read(), target.size_bytes()
        sidecar = None
        with suppress(ValueError):
            sidecar = parse_sidecar(content or b"")
        if size_bytes is None:
            if content is not None and sidecar is None:
                raise NameTakenError(beside.place)
            return False
        own = (state.record.id, self._service.identity)
        if (
            sidecar is None
            or (sidecar.job_id, sidecar.service) != own
            or not _is_whole(target, sidecar, size_bytes)
        ):
            raise NameTakenError(target.place)
        charge_micro_usd = state.charge_micro_usd
        if charge_micro_usd is not None and sidecar.charge_micro_usd is None:
            settled = {"charge_micro_usd": charge_micro_usd}
            beside.write_private(sidecar.model_copy(update=settled).text)
        return True

    async def _publish(
        self,
        state: JobState,
        target: DownloadTarget,
        part: _PartialFile,
        *,
        overwrite: bool,
        recipe: bool,
    ) -> None:
        """Write the sidecar, then rename the file to its name.

        The same call replaces a sidecar without its file, but rejects a file without a
        sidecar, which may belong to somebody else.
        """
        sidecar = await self._sidecar(state, saved_at=self._clock.now(), **part.facts)
        embedded_recipe = recipe_of(sidecar, self._service.api_key) if recipe else None

        def publish() -> None:
            nonlocal sidecar
            if embedded_recipe is not None:
                sidecar = sidecar.model_copy(update=part.add(embedded_recipe.packet))
            # Another call may have saved a result there since.
            if overwrite or not self._is_kept(target, state):
                _beside(target).write_private(sidecar.text)
                try:
                    target.publish(part.close(), overwrite=overwrite)
                except FileExistsError:
                    if not self._is_kept(target, state):
                        raise

        await to_thread.run_sync(publish)

    async def _sidecar(self, state: JobState, **of_file: object) -> Sidecar:
        return sidecar_of(
            state,
            await self._account_history.ask(History.find, state.record.id),
            self._service,
            await self._account_history.ask(
                uploads.uploads_at,
                urls_in(state.body),
                service=self._account_history.service,
            ),
            **of_file,
        )

    async def recipe_edits(
        self, state: JobState, read_url: ReadUrl
    ) -> tuple[int, list[Edit]]:
        """Return the length of a job's output, and the edits that add its recipe."""
        recipe = recipe_of(await self._sidecar(state), self._service.api_key)
        if recipe is None:
            return 0, []
        packet = recipe.packet

        def look(file: BinaryIO) -> tuple[int, list[Edit]]:
            size_bytes = file.seek(0, SEEK_END)
            return size_bytes, edits_of(file, size_bytes, packet)

        return await self.read(read_url, look) or (0, [])

    async def pass_on(self, url: str, name: str, sink: Sink) -> None:
        """Stream a file to a sink, each piece on a thread."""
        async with self._slots:
            await self._pass_on(url, name, sink, None)

    async def _pass_on(
        self, url: str, name: str, sink: Sink, read_url: ReadUrl | None
    ) -> None:
        file = pieces_of(url, self._http, self._clock, read_url=read_url)
        with self._progress.of("download", name) as tell:
            async with aclosing(file) as pieces:
                async for piece in pieces:
                    await to_thread.run_sync(sink, piece)
                    done_bytes = piece.at_bytes + len(piece.content)
                    tell(done_bytes, piece.total_bytes)

    async def fetch(self, read_url: ReadUrl, name: str, max_bytes: int) -> bytes:
        """Return the content of a file; see `AsyncJob.fetch_output`."""
        content = bytearray()

        def keep(piece: Piece) -> None:
            del content[piece.at_bytes :]
            content.extend(piece.content)
            if max(len(content), piece.total_bytes or 0) > max_bytes:
                raise ServiceError(f"The output is larger than {max_bytes:,} bytes.")

        async with self._slots:
            await self._pass_on(await read_url(), name, keep, read_url)
        return bytes(content)

    async def read(self, read_url: ReadUrl, read: Callable[[BinaryIO], T]) -> T | None:
        """Read a part of a file; see `AsyncJob.read_output`."""

        def read_file(file: RemoteFile) -> T:
            return read(BufferedReader(file))

        async with self._slots:
            url = await read_url()
            return await read_remote(url, self._http, read_file, limit_s=LIMIT_S)


def _beside(target: DownloadTarget) -> DownloadTarget:
    """Return the path of the sidecar."""
    return target.sibling(f"{target.name}{SUFFIX}")


def _is_whole(target: DownloadTarget, sidecar: Sidecar, size_bytes: int) -> bool:
    """Return whether an existing file is the one that its sidecar describes.

    Of a remote file, only the length is compared: hashing would download it.
    """
    if size_bytes != sidecar.size_bytes:
        return False
    if sidecar.sha256 is None or not isinstance(target, LocalTarget):
        return True
    return fingerprint(target.place).sha256 == sidecar.sha256
