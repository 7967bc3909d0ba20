"""The recipe of a saved result: its request, stored as metadata in the file.

PNG, JPEG, WebP, mp4 and mov files get an XMP packet. The media are not encoded again;
the rest of the file stays as delivered.
"""

from __future__ import annotations

import json
import os
import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from html import unescape
from pathlib import Path
from shutil import copyfileobj
from typing import Annotated, Any, BinaryIO, Literal, NamedTuple

from pydantic import Field, ValidationError

from mediakit.api_models import (
    LARGEST_CHARGE_MICRO_USD,
    Record,
    without_lone_surrogates,
)
from mediakit.client.sidecar import SUFFIX, Sidecar, parse_sidecar
from mediakit.errors import InputError
from mediakit.media import is_url
from mediakit.safe_text import holds_signature, shown_url

OFF = ("off", "0", "no", "false")
SETTING = "MEDIAKIT_RECIPES"
"""The variable that turns recipes off."""
LOOKED_THROUGH_BYTES = 256 * 1024
"""How many bytes at the beginning and at the end of a file are searched."""
MOST_BYTES = 60_000
"""The longest packet; a segment of a JPEG holds little more."""
MOST_BOXES = 10_000
SECRET_FIELDS = ("webhook_url",)

_PACKET = (
    '<?xpacket begin="\N{ZERO WIDTH NO-BREAK SPACE}" id="W5M0MpCehiHzreSzNTczkc9d"?>'
    '<x:xmpmeta xmlns:x="adobe:ns:meta/">'
    '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
    '<rdf:Description rdf:about="" xmlns:mk="urn:mediakit:recipe:1">'
    "<mk:recipe>{}</mk:recipe>"
    '</rdf:Description></rdf:RDF></x:xmpmeta><?xpacket end="r"?>'
)
_RECIPE = re.compile(rb"<mk:recipe>([^<]*)</mk:recipe>")
_XMP_UUID = bytes.fromhex("be7acfcb97a942e89c71999491e3afac")

Money = Annotated[int, Field(ge=0, le=LARGEST_CHARGE_MICRO_USD, strict=True)]


class Recipe(Record):
    """The request of a result, without secrets; None for unknown values."""

    mediakit_recipe: Literal[1] = 1
    function: str
    fields: dict[str, Any]
    job_id: str
    estimate_high_micro_usd: Money | None = None
    charge_micro_usd: Money | None = None

    @property
    def packet(self) -> bytes:
        """Return the recipe as an XMP packet."""
        text = json.dumps(self.model_dump(mode="json"), separators=(",", ":"))
        for sign, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):
            text = text.replace(sign, entity)
        return _PACKET.format(text).encode()


def are_on() -> bool:
    """Return whether the buttons of widgets write recipes into files."""
    return os.environ.get(SETTING, "").strip().lower() not in OFF


def recipe_of(sidecar: Sidecar, api_key: str) -> Recipe | None:
    """Return the recipe of a result; None if its request is unknown.

    Signed URLs, URLs with a password and text that contains the API key are left out.
    """
    if sidecar.function is None or sidecar.body is None:
        return None
    return Recipe(
        function=sidecar.function,
        fields=dict(_public(sidecar.body, api_key)),
        job_id=sidecar.job_id,
        estimate_high_micro_usd=sidecar.estimate_high_micro_usd,
        charge_micro_usd=sidecar.charge_micro_usd,
    )


def _public(values: Mapping[str, Any], api_key: str) -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if name in SECRET_FIELDS:
            continue
        if isinstance(value, str):
            is_hidden = is_url(value) and (shown_url(value) != value or "?…" in value)
            has_key = bool(api_key) and api_key in value
            if not (is_hidden or has_key or holds_signature(value)):
                yield name, value
        elif isinstance(value, Mapping):
            yield name, dict(_public(value, api_key))
        elif isinstance(value, list):
            numbered = {str(place): each for place, each in enumerate(value)}
            yield name, [each for _, each in _public(numbered, api_key)]
        else:
            yield name, value


# -- reading ---------------------------------------------------------------------------


def parse_recipe(*parts: bytes) -> Recipe | None:
    """Parse the recipe from the beginning and end of a file, or None if there is none.

    Anybody may have written the file: its fields are not checked.
    """
    for part in parts:
        for match in _RECIPE.finditer(part):
            if len(match[1]) > MOST_BYTES:
                continue
            try:
                text = unescape(match[1].decode("ascii"))
                return Recipe.model_validate(without_lone_surrogates(json.loads(text)))
            except (ValueError, RecursionError, ValidationError):
                continue
    return None


def read_recipe(path: Path) -> Recipe:
    """Read the recipe of a saved file, or the sidecar beside it.

    Raises:
        InputError: There is no such file, or it has no recipe.
    """
    try:
        with path.open("rb") as file:
            head = file.read(LOOKED_THROUGH_BYTES)
            size_bytes = file.seek(0, os.SEEK_END)
            file.seek(max(0, size_bytes - LOOKED_THROUGH_BYTES))
            recipe = parse_recipe(head, file.read(LOOKED_THROUGH_BYTES))
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise InputError(
            "from_file", got=f"{path} ({reason})", accepted=ACCEPTED_FILES
        ) from None
    recipe = recipe or _of_sidecar(path.with_name(f"{path.name}{SUFFIX}"))
    if recipe is None:
        raise InputError("from_file", got=str(path), accepted=ACCEPTED_FILES)
    return recipe


ACCEPTED_FILES = "a file that mediakit saved with its recipe, or next to its JSON file"


def _of_sidecar(path: Path) -> Recipe | None:
    try:
        sidecar = parse_sidecar(path.read_bytes())
    except (OSError, ValueError):
        return None
    return None if sidecar is None else recipe_of(sidecar, "")


# -- writing ---------------------------------------------------------------------------


class Edit(NamedTuple):
    """A range of a file and the bytes that replace it; an empty range inserts."""

    start: int
    end: int
    content: bytes


def edits_of(file: BinaryIO, size_bytes: int, packet: bytes) -> list[Edit]:
    """Return the edits that add a packet; none for a format without metadata."""
    if len(packet) > MOST_BYTES:
        return []
    head = _read(file, 0, 64)
    for starts, edits in _FORMATS:
        if starts(head):
            return edits(file, size_bytes, packet)
    return []


def write_edits(source: Path, edits: list[Edit], target: BinaryIO) -> None:
    """Copy a file and apply edits, which are sorted by position."""
    with source.open("rb") as file:
        for edit in edits:
            _copy(file, target, edit.start - file.tell())
            target.write(edit.content)
            file.seek(edit.end)
        copyfileobj(file, target)


def _copy(file: BinaryIO, target: BinaryIO, length: int) -> None:
    while length > 0:
        block = file.read(min(length, 1 << 20))
        if not block:
            return
        target.write(block)
        length -= len(block)


def _read(file: BinaryIO, at: int, length: int) -> bytes:
    file.seek(at)
    return file.read(length)


def _png(file: BinaryIO, size_bytes: int, packet: bytes) -> list[Edit]:
    if _read(file, 8, 8) != b"\0\0\0\rIHDR":
        return []
    body = b"iTXt" + b"XML:com.adobe.xmp\0\0\0\0\0" + packet
    chunk = (len(body) - 4).to_bytes(4) + body + zlib.crc32(body).to_bytes(4)
    return [Edit(33, 33, chunk)]


def _jpeg(file: BinaryIO, size_bytes: int, packet: bytes) -> list[Edit]:
    at = 2
    while (marker := _read(file, at, 4))[:2] == b"\xff\xe0" and at < size_bytes:
        at += 2 + int.from_bytes(marker[2:4])
    body = b"http://ns.adobe.com/xap/1.0/\0" + packet
    return [Edit(at, at, b"\xff\xe1" + (len(body) + 2).to_bytes(2) + body)]


def _webp(file: BinaryIO, size_bytes: int, packet: bytes) -> list[Edit]:
    head = _read(file, 0, 30)
    end = int.from_bytes(head[4:8], "little") + 8
    if end != size_bytes or len(head) < 30:
        return []
    extended, flags = b"", head[20]
    if head[12:16] == b"VP8X":
        start = Edit(20, 21, bytes([flags | 4]))
    else:
        size = _webp_size(head)
        if size is None:
            return []
        width, height, has_alpha = size
        sides = (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
        flags = 4 | (16 if has_alpha else 0)
        extended = b"VP8X\n\0\0\0" + bytes([flags, 0, 0, 0]) + sides
        start = Edit(12, 12, extended)
    chunk = b"XMP " + len(packet).to_bytes(4, "little") + packet
    chunk += b"\0" * (len(packet) % 2)
    total = size_bytes - 8 + len(extended) + len(chunk)
    return [
        Edit(4, 8, total.to_bytes(4, "little")),
        start,
        Edit(size_bytes, size_bytes, chunk),
    ]


def _webp_size(head: bytes) -> tuple[int, int, bool] | None:
    """Return width, height and transparency from the only chunk."""
    if head[12:16] == b"VP8 " and head[23:26] == b"\x9d\x01\x2a":
        width, height = (int.from_bytes(head[at : at + 2], "little") for at in (26, 28))
        width, height = width & 0x3FFF, height & 0x3FFF
        return width, height, False
    if head[12:16] == b"VP8L" and head[20] == 0x2F:
        bits = int.from_bytes(head[21:25], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1, bool(bits >> 28 & 1)
    return None


def _film(file: BinaryIO, size_bytes: int, packet: bytes) -> list[Edit]:
    # A box at the end moves nothing that the file has offsets of.
    at = 0
    for _ in range(MOST_BOXES):
        if at == size_bytes:
            body = b"uuid" + _XMP_UUID + packet
            return [Edit(at, at, (len(body) + 4).to_bytes(4) + body)]
        head = _read(file, at, 16)
        length = int.from_bytes(head[:4])
        if length == 1:
            length = int.from_bytes(head[8:16])
        if length < 8 or at + length > size_bytes:
            return []  # the last box extends to the end, or the file is broken
        at += length
    return []


_Starts = Callable[[bytes], bool]
_Edits = Callable[[BinaryIO, int, bytes], list[Edit]]
_FORMATS: tuple[tuple[_Starts, _Edits], ...] = (
    (lambda head: head.startswith(b"\x89PNG\r\n\x1a\n"), _png),
    (lambda head: head.startswith(b"\xff\xd8\xff"), _jpeg),
    (lambda head: head[:4] == b"RIFF" and head[8:12] == b"WEBP", _webp),
    (lambda head: head[4:8] in (b"ftyp", b"wide", b"mdat", b"moov"), _film),
)
