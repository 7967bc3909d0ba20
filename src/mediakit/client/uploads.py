"""Uploads: local files become permanent URLs, the same bytes once."""

from __future__ import annotations

from pathlib import Path

from anyio import to_thread

from mediakit.client.files import Files, fingerprint
from mediakit.client.prepare import Prepared
from mediakit.client.service import Service
from mediakit.errors import InputError
from mediakit.history import History
from mediakit.media import MediaInfo, is_url, probe
from mediakit.schema import MediaName


class Uploads:
    """Uploads files and remembers where their bytes went.

    Args:
        files: Sends.
        history: Remembers.
        service: Where they go.
    """

    def __init__(self, files: Files, history: History, service: Service) -> None:
        self._files = files
        self._history = history
        self._owner = {"service": service.identity, "account": service.account}

    async def upload(self, path: str | Path, field: str) -> str:
        """Upload a local file and return its permanent URL (spec 4.2)."""
        file, info = await to_thread.run_sync(_probe_any, path, field)
        return await self._upload(file, info.content_type, field)

    async def of(self, prepared: Prepared) -> dict[str, str]:
        """Upload the local files of a request; return their URLs by their paths."""
        urls: dict[str, str] = {}
        for item in prepared.function.media(prepared.body):
            if not is_url(item.value) and item.value not in urls:
                content_type = prepared.infos[item.value].content_type
                file = prepared.paths[item.value]
                urls[item.value] = await self._upload(file, content_type, item.label)
        return urls

    async def _upload(self, file: Path, content_type: str, field: str) -> str:
        print_ = await to_thread.run_sync(fingerprint, file)
        known = self._history.uploaded(
            **self._owner, sha256=print_.sha256, content_type=content_type
        )
        if known is not None:
            return known
        url = await self._files.put(file, content_type, print_, field)
        self._history.remember_upload(
            **self._owner,
            sha256=print_.sha256,
            size_bytes=print_.size_bytes,
            content_type=content_type,
            url=url,
        )
        return url


def _probe_any(path: str | Path, field: str) -> tuple[Path, MediaInfo]:
    file = Path(path).expanduser()
    errors: list[InputError] = []
    kinds: tuple[MediaName, ...] = ("image", "video", "audio")
    for kind in kinds:
        try:
            return file, probe(file, kind, field)
        except InputError as error:
            errors.append(error)
    raise errors[0]
