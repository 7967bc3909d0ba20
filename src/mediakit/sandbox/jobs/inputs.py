"""Downloads the media of a body."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from mediakit.catalog import Function, MediaItem
from mediakit.sandbox.files import Files, name_in
from mediakit.sandbox.outbound import BlockedError, FetchError, Outbound
from mediakit.sandbox.render.protocol import RenderError
from mediakit.sandbox.store.database import SandboxDatabase
from mediakit.sandbox.store.jobs import find_by_file

# The largest input that a function allows is a clip of 200 MB (spec 4.4).
MAX_INPUT_BYTES = 200 * 1024 * 1024
MAX_INPUT_SECONDS = 60.0
# An open function takes any number of URLs.
MAX_INPUTS = 64


def undeclared_media(function: Function, body: Mapping[str, object]) -> list[MediaItem]:
    """List the URLs in the undeclared fields of an open function.

    Every URL in them is downloaded, and the renderer detects its media type.
    """
    further = {name: v for name, v in body.items() if name not in function.fields}
    if not function.is_open:
        return []
    return [
        MediaItem(label, "image", value)
        for name, values in further.items()
        for label, value in _texts(values, name)
        if value.startswith(("http://", "https://"))
    ]


def _texts(value: object, label: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield label, value
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _texts(item, f"{label}[{index}]")
    elif isinstance(value, dict):
        for name, item in value.items():
            yield from _texts(item, f"{label}.{name}")


@dataclass(frozen=True)
class JobInputs:
    """Finds the sandbox's own files on disk and downloads all others."""

    db: SandboxDatabase
    files: Files
    allow_loopback: bool
    max_bytes: int = MAX_INPUT_BYTES
    max_seconds: float = MAX_INPUT_SECONDS

    async def gather(self, media: Iterable[MediaItem], folder: Path) -> dict[str, Path]:
        """Download media; return a readable path by URL."""
        paths: dict[str, Path] = {}
        outbound = Outbound(allow_loopback=self.allow_loopback)
        for item in media:
            if item.value not in paths:
                try:
                    if len(paths) == MAX_INPUTS:
                        raise FetchError(f"a job takes at most {MAX_INPUTS} inputs")
                    path = self._own(item.value)
                    if path is None:
                        path = folder / f"input-{len(paths)}"
                        await outbound.fetch(
                            item.value,
                            path,
                            max_bytes=self.max_bytes,
                            max_seconds=self.max_seconds,
                        )
                    paths[item.value] = path
                except (BlockedError, FetchError) as problem:
                    # Never show the URL: it may be signed, and errors outlive an
                    # erasure.
                    raise RenderError.invalid(
                        f"{item.label}: its URL cannot be used: {problem}."
                    ) from None
        return paths

    def _own(self, url: str) -> Path | None:
        # A file of this data directory is identified by its unguessable name, not by
        # host and port: the sandbox may have several names, and its port can change.
        # Such a file is not fetched.
        try:
            parts = urlsplit(url)
        except ValueError:
            return None
        name = name_in(parts.path)
        if name is None or parts.scheme not in ("http", "https"):
            return None
        upload = self.db.one("SELECT stored_us FROM upload WHERE file = ?", name)
        if upload is not None:
            return self._complete(name, there=upload["stored_us"] is not None)
        job = find_by_file(self.db, name)
        return None if job is None else self._complete(name, there=job.has_output)

    def _complete(self, name: str, *, there: bool) -> Path:
        path = self.files.path(name)
        if there and path.is_file():
            return path
        raise FetchError("there is no file (never uploaded, erased or removed)")
