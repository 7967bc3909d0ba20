"""Files of media: their names, and files for media that are held in memory."""

from __future__ import annotations

import sys
from functools import cache
from hashlib import sha256
from io import BytesIO
from pathlib import Path, PurePosixPath
from tempfile import NamedTemporaryFile, mkdtemp
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from mediakit.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.figure import Figure
    from PIL.Image import Image as PILImage

SAFE = "-_. "
LONGEST_NAME = 80
BYTES_PER_KB, BYTES_PER_MB = 1_000, 1_000_000


def size_text(size_bytes: int) -> str:
    """Format a file size for people."""
    if size_bytes >= BYTES_PER_MB:
        return f"{size_bytes / BYTES_PER_MB:,.1f} MB"
    if size_bytes >= BYTES_PER_KB:
        return f"{size_bytes / BYTES_PER_KB:.0f} kB"
    return f"{size_bytes} bytes"


def plain_name(name: str) -> str:
    """Return the last part of a file name, with characters that are safe everywhere."""
    last = name.replace("\\", "/").rsplit("/", 1)[-1]
    plain = "".join(c if c.isalnum() or c in SAFE else "_" for c in last)
    return plain.strip(" .")[-LONGEST_NAME:] or "file"


# -- Suffixes of results ----------------------------------------------------------

_BY_CONTENT_TYPE = {
    "video/mp4": ".mp4",
    "video/quicktime": ".mov",
    "video/webm": ".webm",
    "video/x-matroska": ".mkv",
    "video/x-msvideo": ".avi",
    "image/png": ".png",
    "image/jpeg": ".jpg",
    "image/webp": ".webp",
    "image/gif": ".gif",
    "image/avif": ".avif",
    "image/bmp": ".bmp",
    "image/tiff": ".tiff",
    "audio/mpeg": ".mp3",
    "audio/wav": ".wav",
    "audio/x-wav": ".wav",
    "audio/mp4": ".m4a",
    "audio/ogg": ".ogg",
    "audio/flac": ".flac",
    "audio/aac": ".aac",
}
_IN_URLS = {*_BY_CONTENT_TYPE.values(), ".jpeg", ".m4v", ".tif"}
_BY_MEDIA_TYPE = {"video": ".mp4", "image": ".png", "audio": ".mp3"}


def result_suffix(url: str, media_type: str, content_type: str | None = None) -> str:
    """Return the suffix for a result's file.

    A URL is the service's choice. Only the suffix of a medium is taken from it: a
    result that is saved as ".html" would run its scripts when it is opened.
    """
    named = (content_type or "").partition(";")[0].strip().lower()
    in_url = PurePosixPath(urlsplit(url).path).suffix.lower()
    if named in _BY_CONTENT_TYPE:
        return _BY_CONTENT_TYPE[named]
    return in_url if in_url in _IN_URLS else _BY_MEDIA_TYPE.get(media_type, "")


# -- Media in memory --------------------------------------------------------------


def write_kernel_file(name: str, content: bytes) -> Path:
    """Write bytes to a file that is kept until the kernel stops.

    Equal names and contents always give the same path.
    """
    folder = kernel_folder() / sha256(content).hexdigest()[:12]
    folder.mkdir(exist_ok=True)
    path = folder / plain_name(name)
    if not path.exists():
        # Written atomically, because another call may be reading it.
        with NamedTemporaryFile(dir=folder, delete=False) as file:
            file.write(content)
        Path(file.name).replace(path)
    return path


@cache
def kernel_folder() -> Path:
    """Return the folder for temporary files of this process."""
    return Path(mkdtemp(prefix="mediakit-"))


PICTURE_MODES = ("1", "L", "LA", "P", "RGB", "RGBA", "I;16")
CHANNELS = (3, 4)
BRIGHTEST = 255
ACCEPTED_ARRAY = (
    "height x width, or height x width x 3 or 4, as uint8 from 0 to 255, as booleans "
    "or as floats from 0 to 1"
)


def file_of(value: object, field: str) -> Path | None:
    """Write a medium held in memory to a file; None for anything else, such as a path.

    Pictures, figures and arrays become lossless PNG files. Equal pictures give the
    same file, so they are uploaded and paid for once.
    """
    if isinstance(value, bytes | bytearray | memoryview):
        return write_kernel_file("bytes", bytes(value))
    if _is(value, "PIL.Image", "Image"):
        return write_kernel_file("picture.png", _png(value))
    if _is(value, "matplotlib.figure", "Figure"):
        out, figure = BytesIO(), cast("Figure", value)
        # Without the software's name, equal figures give equal bytes.
        figure.savefig(out, format="png", metadata={"Software": None})
        return write_kernel_file("figure.png", out.getvalue())
    if _is(value, "numpy", "ndarray"):
        return write_kernel_file("array.png", _array_png(value, field))
    return None


def _is(value: object, module: str, name: str) -> bool:
    """Tell whether it is of a class whose module is already imported."""
    kind = getattr(sys.modules.get(module), name, None)
    return isinstance(kind, type) and isinstance(value, kind)


def _png(picture: Any) -> bytes:
    image: PILImage = picture
    if image.mode not in PICTURE_MODES:
        image = image.convert("RGBA" if image.has_transparency_data else "RGB")
    out = BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


def _array_png(value: Any, field: str) -> bytes:
    from PIL import Image

    array: np.ndarray[Any, Any] = value
    if not _has_a_shape_of_a_picture(array) or not _has_colours(array):
        shape = " x ".join(map(str, array.shape)) or "no dimension"
        got = f"an array of {shape}, {array.dtype}"
        raise InputError(field, got=got, accepted=ACCEPTED_ARRAY)
    if array.dtype.kind in "fb":
        array = (array * BRIGHTEST).round().astype("uint8")
    return _png(Image.fromarray(array))


def _has_a_shape_of_a_picture(array: Any) -> bool:
    deep = array.ndim == 3 and array.shape[2] in CHANNELS
    return bool(array.size) and (array.ndim == 2 or deep)


def _has_colours(array: Any) -> bool:
    if array.dtype.kind == "f":
        return bool(((array >= 0) & (array <= 1)).all())
    return array.dtype.kind == "b" or str(array.dtype) == "uint8"
