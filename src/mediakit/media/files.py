"""Media files: their names and suffixes, and files for in-memory media."""

from __future__ import annotations

import sys
from functools import cache
from hashlib import sha256
from io import BytesIO
from os import PathLike, fsdecode
from pathlib import Path, PurePosixPath
from tempfile import NamedTemporaryFile, mkdtemp
from typing import TYPE_CHECKING, Any, cast

from mediakit.decoding import decoder_errors, in_srgb, without_warnings
from mediakit.errors import InputError
from mediakit.rules import ValueDescription
from mediakit.web_urls import parts_of

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.figure import Figure
    from PIL.Image import Image as PILImage

SAFE = "-_. "
LONGEST_NAME = 80
BYTES_PER_KB, BYTES_PER_MB = 1_000, 1_000_000


def size_text(size_bytes: int) -> str:
    """Format a file size for display."""
    if size_bytes >= BYTES_PER_MB:
        return f"{size_bytes / BYTES_PER_MB:,.1f} MB"
    if size_bytes >= BYTES_PER_KB:
        return f"{size_bytes / BYTES_PER_KB:.0f} kB"
    return f"{size_bytes} bytes"


def plain_name(name: str) -> str:
    """Return the last part of a file name, with only portable characters."""
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

    The service chooses the URL, so only a media suffix is taken from it: a result saved
    as ".html" would run its scripts when opened.
    """
    named = (content_type or "").partition(";")[0].strip().lower()
    in_url = PurePosixPath(parts_of(url).path).suffix.lower()
    if named in _BY_CONTENT_TYPE:
        return _BY_CONTENT_TYPE[named]
    return in_url if in_url in _IN_URLS else _BY_MEDIA_TYPE.get(media_type, "")


def content_type_of(name: str) -> str:
    """Return the content type for the suffix of a result's file; empty if unknown."""
    suffix = PurePosixPath(name).suffix.lower()
    types = (kind for kind, each in _BY_CONTENT_TYPE.items() if each == suffix)
    return next(types, "")


# -- Media in memory --------------------------------------------------------------


def write_kernel_file(name: str, content: bytes) -> Path:
    """Write bytes to a file that is kept until the kernel stops.

    The same name and content give the same path.
    """
    folder = kernel_folder() / sha256(content).hexdigest()[:12]
    folder.mkdir(exist_ok=True)
    path = folder / plain_name(name)
    if not path.exists():
        # Write atomically, because another call may be reading the file.
        with NamedTemporaryFile(dir=folder, delete=False) as file:
            file.write(content)
        Path(file.name).replace(path)
    return path


@cache
def kernel_folder() -> Path:
    """Return the folder for temporary files of this process."""
    return Path(mkdtemp(prefix="mediakit-"))


# PNG has these modes; others are converted.
PICTURE_MODES = ("1", "L", "LA", "P", "RGB", "RGBA", "I;16")
# Numeric modes: only the user knows the levels of black and white.
NUMBER_MODES = ("I", "F")
CHANNELS = (3, 4)
BRIGHTEST = 255
ACCEPTED_ARRAY = (
    "height x width, or height x width x 3 or 4, as uint8 from 0 to 255, as booleans "
    "or as floats from 0 to 1"
)


def file_of(value: object, field: str) -> Path | None:
    """Return the file of an in-memory medium, which is written if needed.

    Returns None for other values, such as a path. Pictures, figures and arrays become
    lossless PNG files. Equal pictures give the same file, so they are uploaded and paid
    for once.
    """
    if isinstance(value, bytes | bytearray | memoryview):
        return write_kernel_file("bytes", bytes(value))
    if _is(value, "PIL.Image", "Image"):
        return write_kernel_file("picture.png", _picture_png(value, field))
    if _is(value, "matplotlib.figure", "Figure"):
        out, figure = BytesIO(), cast("Figure", value)
        # Without the software's name, equal figures give equal bytes.
        figure.savefig(out, format="png", metadata={"Software": None})
        return write_kernel_file("figure.png", out.getvalue())
    if isinstance(value, PathLike) and not isinstance(value, Path):
        return Path(fsdecode(value))
    if hasattr(value, "read"):
        return _file_of_open(value, field)
    if _is(value, "numpy", "ndarray") or _is_tensor(value):
        return write_kernel_file("array.png", _array_png(value, field))
    return None


def _is_tensor(value: object) -> bool:
    """Return whether a value is a numeric array; table columns may contain text."""
    package = type(value).__module__.partition(".")[0]
    has_array = hasattr(type(value), "__array__") and hasattr(value, "shape")
    return has_array and package not in ("numpy", "pandas", "polars")


def _file_of_open(file: Any, field: str) -> Path:
    """Copy an open file from its beginning, wherever its position is."""
    accepted = "a file opened in binary mode for reading"
    try:
        position = file.tell()
        file.seek(0)
        content = file.read()
        file.seek(position)
    except (OSError, ValueError, AttributeError) as error:
        text = ValueDescription(f"an open file that cannot be read: {error}")
        raise InputError(field, got=text, accepted=accepted) from None
    if not isinstance(content, bytes):
        raise InputError(
            field, got=ValueDescription("a file opened in text mode"), accepted=accepted
        )
    return write_kernel_file("file", content)


def _is(value: object, module: str, name: str) -> bool:
    """Return whether a value's class is of a module that is already imported."""
    kind = getattr(sys.modules.get(module), name, None)
    return isinstance(kind, type) and isinstance(value, kind)


def _picture_png(picture: Any, field: str) -> bytes:
    """Encode a Pillow picture as displayed: upright, in a mode of PNG."""
    from PIL import ImageOps

    image: PILImage = picture
    try:
        with decoder_errors():
            with without_warnings():
                upright = ImageOps.exif_transpose(image)
            if upright.mode in NUMBER_MODES:
                import numpy as np

                return _array_png(np.asarray(upright), field)
            return _png(_in_png_mode(upright))
    except InputError:
        raise
    except (OSError, ValueError) as error:
        reason = error.__cause__ or error
        text = ValueDescription(f"a Pillow picture that cannot be saved: {reason}")
        raise InputError(field, got=text, accepted="a picture with pixels") from None


def _in_png_mode(image: PILImage) -> PILImage:
    if image.mode.startswith("I;16"):
        import numpy as np
        from PIL import Image

        # Handle both byte orders.
        return Image.fromarray(np.asarray(image).astype(np.uint16))
    if image.mode in ("La", "RGBa"):
        return image.convert(image.mode.upper())
    if image.mode == "CMYK":
        image = in_srgb(image)
    if image.mode not in PICTURE_MODES:
        image.info.pop("icc_profile", None)  # the profile describes the old colours
        return image.convert("RGBA" if image.has_transparency_data else "RGB")
    return image


def _png(image: PILImage) -> bytes:
    out = BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


def _array_png(value: Any, field: str) -> bytes:
    import numpy as np
    from PIL import Image

    try:
        array: np.ndarray[Any, Any] = np.ma.filled(np.asanyarray(value), 0)
    except (TypeError, ValueError, RuntimeError) as error:  # on a GPU, with gradients
        reason = ValueDescription(
            f"a {type(value).__name__} that cannot be converted to an array: {error}"
        )
        raise InputError(field, got=reason, accepted=ACCEPTED_ARRAY) from None
    if not _has_a_shape_of_a_picture(array) or not _has_colours(array):
        shape = " x ".join(map(str, array.shape)) or "no dimension"
        text = f"an array of {shape}, {array.dtype}"
        raise InputError(field, got=text, accepted=ACCEPTED_ARRAY)
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
