"""The colours of pictures and video frames: sRGB, BT.709, HDR and eight bits."""

from __future__ import annotations

from functools import cache
from io import BytesIO
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from av import VideoFrame
    from numpy.typing import NDArray
    from PIL.Image import Image as PILImage

_WHITE = 255
_DEEP_WHITE = 65_535
# FFmpeg's numbers of matrices from RGB to stored levels (ITU-T H.273).
_BT709, _BT601, _UNSPECIFIED = 1, 5, 2
_LIMITED_RANGE = 1
# Players assume BT.601 for smaller frames without a named matrix.
_HD_LINES = 720
# FFmpeg's numbers of transfer functions (ITU-T H.273).
PQ, HLG = 16, 18
WHITE_NITS = 203.0  # reference white (ITU-R BT.2408)
PQ_NITS, HLG_NITS = 10_000.0, 1_000.0
KNEE = 0.9  # share of white above which light is compressed
STEPS = 4_096

# -- pictures ------------------------------------------------------------------------

Levels = tuple[float, float]
"""The values of black and white."""


def levels_of(image: PILImage) -> Levels:
    """Return the values of black and white in a mode with more than eight bits.

    Numbers without a scale are stretched to their actual range.
    """
    if image.mode.startswith("I;16"):
        return 0, _DEEP_WHITE
    if image.mode not in ("I", "F"):
        return 0, _WHITE
    extrema: Any = image.getextrema()
    darkest, brightest = extrema
    scales = [1.0] if image.mode == "F" else []
    for white in (*scales, float(_WHITE), float(_DEEP_WHITE)):
        if darkest >= 0 and brightest <= white:
            return 0, white
    return darkest, brightest


def in_srgb(image: PILImage) -> PILImage:
    """Convert a picture with a colour profile to sRGB.

    The result has no profile, which would not fit another mode.
    """
    from PIL import ImageCms

    profile = image.info.get("icc_profile")
    if not profile:
        return image
    if image.mode == "P":
        image = image.convert("RGBA" if image.has_transparency_data else "RGB")
    if image.mode not in ("RGB", "RGBA", "CMYK", "L", "LA"):
        return image
    image.info.pop("icc_profile")
    alpha = image.getchannel("A") if image.mode == "LA" else None
    colours = image if alpha is None else image.getchannel("L")
    mode = "RGBA" if image.mode == "RGBA" else "RGB"
    srgb = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB"))
    try:
        converted = ImageCms.profileToProfile(
            colours, BytesIO(profile), srgb, outputMode=mode
        )
    except (ImageCms.PyCMSError, OSError, ValueError):
        return image  # like viewers, ignore an unreadable profile
    assert converted is not None  # it is not converted in place
    converted.info.pop("icc_profile", None)
    if alpha is not None:
        converted.putalpha(alpha)
    return converted


def eight_bits(image: PILImage, levels: Levels | None = None) -> PILImage:
    """Convert a picture to L, RGB or RGBA; deeper pixels are scaled, not clipped."""
    import numpy as np
    from PIL import Image

    if image.mode in ("I", "F") or image.mode.startswith("I;16"):
        black, white = levels or levels_of(image)
        share = (np.asarray(image, np.float32) - black) / ((white - black) or 1)
        clean = np.nan_to_num(share).clip(0, 1)
        return Image.fromarray(np.rint(clean * _WHITE).astype(np.uint8))
    if image.mode == "La":
        image = image.convert("LA")
    if image.mode in ("L", "RGB") and not image.has_transparency_data:
        return image
    return image.convert("RGBA" if image.has_transparency_data else "RGB")


def on_white(image: PILImage) -> PILImage:
    """Composite a transparent picture on white."""
    from PIL import Image

    if image.mode != "RGBA":
        return image
    paper = Image.new("RGBA", image.size, "white")
    return Image.alpha_composite(paper, image).convert("RGB")


# -- video frames --------------------------------------------------------------------


def as_bt709(frame: VideoFrame, width: int, height: int) -> VideoFrame:
    """Convert a frame to yuv420p in BT.709 and limited range, without rotation."""
    is_stored_so = _matrix(frame) == _BT709 and not frame.format.is_rgb
    if not is_stored_so or is_high_range(frame):
        return bt709_frame(rgb_pixels(frame, width, height))
    return frame.reformat(
        width,
        height,
        "yuv420p",
        src_colorspace=_BT709,
        dst_colorspace=_BT709,
        dst_color_range=_LIMITED_RANGE,
        threads=1,
    )


def bt709_frame(pixels: NDArray[np.uint8]) -> VideoFrame:
    """Convert RGB pixels to yuv420p in BT.709 and limited range, as players expect."""
    import numpy as np
    from av import VideoFrame

    frame = VideoFrame.from_ndarray(np.ascontiguousarray(pixels), "rgb24")
    return frame.reformat(
        format="yuv420p",
        dst_colorspace=_BT709,
        dst_color_range=_LIMITED_RANGE,
        threads=1,
    )


def rgb_pixels(frame: VideoFrame, width: int, height: int) -> NDArray[np.uint8]:
    """Return a frame as RGB for ordinary screens."""
    import numpy as np

    matrix = None if frame.format.is_rgb else _matrix(frame)
    small = frame.reformat(
        width,
        height,
        "rgb24",
        src_colorspace=matrix,
        interpolation="AREA",
        threads=1,
    )
    pixels = np.asarray(small.to_ndarray(), np.uint8)
    if is_high_range(frame):
        return in_standard_range(pixels, frame.color_trc)
    return pixels


def _matrix(frame: VideoFrame) -> int:
    if frame.colorspace != _UNSPECIFIED:
        return frame.colorspace
    return _BT709 if frame.height >= _HD_LINES else _BT601


# -- high dynamic range --------------------------------------------------------------


def is_high_range(frame: VideoFrame) -> bool:
    """Return whether a frame is HDR."""
    return frame.color_trc in (PQ, HLG)


def in_standard_range(pixels: NDArray[Any], transfer: int) -> NDArray[np.uint8]:
    """Convert RGB pixels of an HDR frame to standard dynamic range.

    Args:
        pixels: Height x width x 3, as FFmpeg converts them without a transfer.
        transfer: The number of their transfer function, `PQ` or `HLG`.
    """
    import numpy as np

    light = _light(transfer)[pixels]
    if transfer == HLG:
        luminance = light @ np.array([0.2627, 0.678, 0.0593], np.float32)
        light *= (HLG_NITS / WHITE_NITS) * np.maximum(luminance, 1e-6)[..., None] ** 0.2
    light = light @ _narrower().T
    bright = light > KNEE
    room = 1 - KNEE
    light[bright] = 1 - room * np.exp((KNEE - light[bright]) / room)
    places = np.clip(light * (STEPS - 1), 0, STEPS - 1).astype(np.uint16)
    stored: NDArray[np.uint8] = _encoded()[places]
    return stored


@cache
def _light(transfer: int) -> NDArray[np.float32]:
    """Return the linear light of each stored value, relative to white."""
    import numpy as np

    stored = np.arange(256) / 255
    if transfer == HLG:
        # The constants of ITU-R BT.2100, table 5.
        low, high = stored**2 / 3, (np.exp((stored - 0.55991073) / 0.17883277)) / 12
        return np.where(stored <= 0.5, low, high + 0.28466892 / 12).astype(np.float32)
    power = stored ** (32 / 2523)
    nits = np.maximum(power - 0.8359375, 0) / (18.8515625 - 18.6875 * power)
    light = PQ_NITS / WHITE_NITS * nits ** (16384 / 2610)
    return np.asarray(light, np.float32)


@cache
def _narrower() -> NDArray[np.float32]:
    """Return the matrix from BT.2020 to BT.709 colours (BT.2087)."""
    import numpy as np

    rows: Any = [
        [1.6605, -0.5876, -0.0728],
        [-0.1246, 1.1329, -0.0083],
        [-0.0182, -0.1006, 1.1187],
    ]
    return np.asarray(rows, np.float32)


@cache
def _encoded() -> NDArray[np.uint8]:
    """Return the stored value of each amount of light, by the sRGB curve."""
    import numpy as np

    light = np.arange(STEPS) / (STEPS - 1)
    curve = 1.055 * np.maximum(light, 1e-6) ** (1 / 2.4) - 0.055
    stored = np.where(light <= 0.0031308, 12.92 * light, curve)
    return np.asarray(np.round(stored * 255), np.uint8)
