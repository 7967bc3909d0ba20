"""Frames of high dynamic range, computed from the formulas of ITU-R BT.2100."""

import av
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# FFmpeg's numbers of the transfer functions (ITU-T H.273).
PQ, HLG = 16, 18
BT2020 = 9
_BT2020_OF_BT709 = np.array(
    [[0.6274, 0.3293, 0.0433], [0.0691, 0.9195, 0.0114], [0.0164, 0.088, 0.8956]]
)


def high_range_frame(picture: NDArray[np.uint8], transfer: int) -> av.VideoFrame:
    """Store a picture of sRGB in BT.2020 with 10 bits, its white at 203 nits."""
    red, green, blue = np.moveaxis(_CURVES[transfer](_light_of(picture)), -1, 0)
    luma = 0.2627 * red + 0.678 * green + 0.0593 * blue
    planes = (
        64 + 876 * luma,
        (512 + 896 * (blue - luma) / 1.8814)[::2, ::2],
        (512 + 896 * (red - luma) / 1.4746)[::2, ::2],
    )
    height, width = picture.shape[:2]
    frame = av.VideoFrame(width, height, "yuv420p10le")
    for plane, codes in zip(frame.planes, planes, strict=True):
        rows = np.zeros((plane.height, plane.line_size // 2), "<u2")
        rows[:, : plane.width] = np.rint(codes)
        plane.update(rows.tobytes())
    frame.color_trc, frame.colorspace, frame.color_primaries = transfer, BT2020, BT2020
    return frame


def _light_of(picture: NDArray[np.uint8]) -> Floats:
    """Return the light of colours of sRGB in the primaries of BT.2020."""
    stored = picture / 255
    light = np.where(
        stored <= 0.04045, stored / 12.92, ((stored + 0.055) / 1.055) ** 2.4
    )
    wide: Floats = light @ _BT2020_OF_BT709.T
    return wide


def _stored_as_pq(light: Floats) -> Floats:
    power = (light * 203 / 10_000) ** 0.1593017578125
    return ((0.8359375 + 18.8515625 * power) / (1 + 18.6875 * power)) ** 78.84375


def _stored_as_hlg(light: Floats) -> Floats:
    display = light * 203 / 1_000
    luminance = display @ [0.2627, 0.678, 0.0593]
    scene = display * luminance[..., None] ** (1 / 1.2 - 1)
    high = 0.17883277 * np.log(np.maximum(12 * scene - 0.28466892, 1e-9)) + 0.55991073
    return np.where(scene <= 1 / 12, np.sqrt(3 * scene), high)


_CURVES = {PQ: _stored_as_pq, HLG: _stored_as_hlg}
