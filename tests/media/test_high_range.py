"""Clips of high dynamic range keep their brightness, whatever their size."""

from __future__ import annotations

from pathlib import Path

import av
import numpy as np
import pytest

from mediakit.media import poster_jpeg
from tests.media.test_assorted_files import corners, jpeg_pixels
from tests.sandbox.render.studio import Studio, look
from tests.support.samples.assorted_files import HEVC, clip
from tests.support.samples.high_range import HLG, PQ, high_range_frame

TOLERANCE = 12  # of 255, after 8 bits and JPEG


@pytest.mark.parametrize("transfer", [PQ, HLG], ids=["PQ", "HLG"])
@pytest.mark.parametrize("level", [20, 60, 128, 200])
def test_a_poster_has_the_light_that_was_filmed(
    tmp_path: Path, transfer: int, level: int
) -> None:
    path = tmp_path / "clip.mp4"
    with av.open(str(path), "w") as file:
        stream = file.add_stream("libx265", rate=24, options=HEVC["codec_options"])
        assert isinstance(stream, av.VideoStream)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p10le"
        stream.color_trc = transfer
        grey = high_range_frame(np.full((48, 64, 3), level, np.uint8), transfer)
        file.mux([*stream.encode(grey), *stream.encode(None)])

    assert np.abs(jpeg_pixels(poster_jpeg(path)) - level).max() <= TOLERANCE


def test_a_large_clip_of_high_range_is_composed_whole(tmp_path: Path) -> None:
    path, studio = tmp_path / "clip.mp4", Studio(tmp_path)
    size, pixels = (2560, 1440), "yuv420p10le"
    path.write_bytes(clip("libx265", "mp4", pixels, size=size, transfer=PQ, **HEVC))
    keyframe = {"timestamp": 0, "duration": 40, "url": studio.url(path)}
    track = {"id": "a", "type": "video", "keyframes": [keyframe]}

    studio.film("compose-video", {"tracks": [track]}, path)
    result = look(studio.output)
    assert result.size == (1280, 720)
    assert corners(result.frames[0]) == "rgbw"
