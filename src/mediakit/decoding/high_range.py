"""Tone mapping of HDR frames, as phones record them, for ordinary screens."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from av import VideoFrame
    from numpy.typing import NDArray

# FFmpeg's numbers of the transfer functions, as frames carry them (ITU-T H.273).
PQ, HLG = 16, 18
WHITE_NITS = 203.0  # the white of paper in such a recording (ITU-R BT.2408)
PQ_NITS, HLG_NITS = 10_000.0, 1_000.0
KNEE = 0.9  # of white: what is brighter is compressed, what is darker stays
STEPS = 4_096


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
