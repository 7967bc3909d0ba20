"""Media that a notebook has as objects: bytes, pictures, figures, arrays."""

from __future__ import annotations

import sys
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mediakit.errors import InputError
from mediakit.media.kernel_files import write_kernel_file

if TYPE_CHECKING:
    import numpy as np
    from PIL.Image import Image as PILImage

PICTURE_MODES = ("1", "L", "LA", "P", "RGB", "RGBA", "I;16")
CHANNELS = (3, 4)
BRIGHTEST = 255
ACCEPTED_ARRAY = (
    "height x width, or height x width x 3 or 4, as uint8 from 0 to 255, as booleans "
    "or as floats from 0 to 1"
)


def file_of(value: object, field: str) -> Path | None:
    """Write a medium held in memory to a file.

    Pictures, figures and arrays become lossless PNG files. Equal pictures give the
    same file, so they are uploaded and paid for once.

    Args:
        value: Bytes of a file, a PIL picture, a matplotlib figure, a numpy array, or
            anything else.
        field: The field that the value is for, used in the error.

    Returns:
        The file; None for anything else, such as a path or a URL.

    Raises:
        InputError: It is an array that is not a picture.
    """
    if isinstance(value, bytes | bytearray | memoryview):
        return write_kernel_file("bytes", bytes(value))
    if _is(value, "PIL.Image", "Image"):
        return write_kernel_file("picture.png", _png(value))
    if _is(value, "matplotlib.figure", "Figure"):
        return write_kernel_file("figure.png", _figure_png(value))
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


def _figure_png(figure: Any) -> bytes:
    out = BytesIO()
    # Without the software's name, equal figures give equal bytes.
    figure.savefig(out, format="png", metadata={"Software": None})
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
