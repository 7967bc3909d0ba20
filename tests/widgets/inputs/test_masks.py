"""Masks: the frame under them, and the region that they select."""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from PIL import Image

from mediakit import Client
from mediakit.widgets.form.controller import Form
from mediakit.widgets.form.form_inputs import NO_CLIP, UNREADABLE
from tests.support.samples.media_samples import make_mp4, make_png
from tests.support.widgets import finish, hear, page, say, until


@pytest.fixture
def form(client: Client) -> Iterator[Form]:
    made = Form(client, client.catalog.function("region-replace"), {}, name="masks")
    until(lambda: made.state.funds.balance is not None, made)
    yield made
    finish(made)


class Painter:
    """The page's half of the painting: it asks for a frame, and uploads a mask."""

    def __init__(self, form: Form) -> None:
        self.form = form
        self.said: list[tuple[dict[str, Any], list[bytes]]] = []
        hear(form, "answer", lambda *said: self.said.append(said))

    def frame(self, value: str = "") -> tuple[dict[str, Any], list[bytes]]:
        """Ask for a frame of the clip; return the answer and its pictures."""
        self.said.clear()
        say(self.form, "frame", number=1, mask_of="video", value=value)
        until(lambda: self.said)
        return self.said[0]


def test_a_mask_is_painted_only_on_a_clip_that_can_be_read(
    form: Form, tmp_path: Path
) -> None:
    fields = {each["name"]: each for each in page(form)["schema"]["fields"]}
    assert fields["modify_region_mask"]["mask_of"] == "video"
    assert "mask_of" not in fields["image"]
    painter = Painter(form)
    assert painter.frame()[0]["problem"] == NO_CLIP

    (tmp_path / "clip.mp4").write_bytes(b"no clip")
    form.values.update(video=str(tmp_path / "clip.mp4"))
    assert painter.frame()[0]["problem"] == UNREADABLE


def test_a_frame_comes_with_the_size_of_the_clip_upright_and_the_mask_before(
    form: Form, tmp_path: Path
) -> None:
    # Stored as 854 x 480, with the rotation of a phone that was held upright.
    clip = make_mp4(tmp_path / "clip.mp4", duration_s=0.5, rotation_degrees=-90)
    mask = make_png(tmp_path / "mask.png", (480, 854))
    form.values.update(video=str(clip), prompt="a red tent")
    said, [frame, base] = Painter(form).frame(str(mask))

    assert (said["width"], said["height"]) == (480, 854)
    with Image.open(BytesIO(frame)) as picture:
        assert picture.size == (480, 854)
    assert base == mask.read_bytes()
    assert Painter(form).frame("gone.png")[1][1] == b""


def test_the_mask_of_a_portrait_phone_clip_marks_what_the_service_replaces(
    client: Client, tmp_path: Path
) -> None:
    clip = make_mp4(tmp_path / "clip.mp4", duration_s=0.5, rotation_degrees=-90)
    with av.open(str(clip)) as stored:
        first = next(stored.decode(video=0)).to_ndarray(format="rgb24")
    shown_frame = np.rot90(first, -1).astype(int)
    painted_px = np.zeros((854, 480), bool)
    painted_px[:427, :240] = True  # the upper left quarter of what is shown
    Image.fromarray(painted_px.astype("uint8") * 255).save(tmp_path / "mask.png")
    job = client.run(
        "region-replace",
        video=clip,
        prompt="a red tent",
        modify_region_mask=tmp_path / "mask.png",
        resolution="720p",
    )
    with av.open(str(job.download(tmp_path / "replaced.mp4"))) as replaced:
        after = next(replaced.decode(video=0)).reformat(480, 854, "rgb24")
    changed = np.abs(after.to_ndarray().astype(int) - shown_frame).max(axis=2)
    assert changed[painted_px].mean() > 30
    # Right of it is the sandbox's label, as wide as its longest line.
    assert changed[440:].mean() < 10
    assert changed[:, 360:].mean() < 10
