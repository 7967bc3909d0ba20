"""In-memory media: the same picture becomes the same file."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from io import BytesIO, StringIO
from pathlib import Path, PurePath
from tempfile import NamedTemporaryFile
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from matplotlib.figure import Figure
from PIL import Image

from mediakit import Client, InputError
from mediakit.client.request_preparation import plain_fields
from mediakit.media import file_of, probe
from tests.support.samples.media_samples import make_picture

PICTURE = make_picture((64, 48))


def figure() -> Figure:
    made = Figure(figsize=(2, 1), dpi=64)
    made.subplots().plot([1, 3, 2])
    return made


def encoded(kind: str) -> bytes:
    out = BytesIO()
    PICTURE.save(out, kind)
    return out.getvalue()


def pixels(path: Path | None) -> np.ndarray[Any, Any]:
    assert path is not None
    with Image.open(path) as image:
        return np.asarray(image)


@pytest.mark.parametrize(
    ("value", "size"),
    [
        (encoded("PNG"), (64, 48)),
        (bytearray(encoded("JPEG")), (64, 48)),
        (memoryview(encoded("WEBP")), (64, 48)),
        (PICTURE, (64, 48)),
        (PICTURE.convert("CMYK"), (64, 48)),
        (figure(), (128, 64)),
        (np.zeros((48, 64), bool), (64, 48)),
        (np.zeros((48, 64, 4), np.uint8), (64, 48)),
    ],
    ids=["bytes", "bytearray", "view", "PIL", "CMYK", "figure", "bools", "RGBA"],
)
def test_a_picture_in_memory_becomes_a_file_of_that_picture(
    value: object, size: tuple[int, int]
) -> None:
    path = file_of(value, "image_url")

    assert path is not None
    info = probe(path, "image", "image_url")
    assert (info.width, info.height) == size
    written_ns = path.stat().st_mtime_ns
    assert file_of(value, "image_url") == path
    assert path.stat().st_mtime_ns == written_ns  # another call may be reading it


@given(arrays.arrays(np.uint8, st.tuples(st.integers(1, 5), st.just(4), st.just(3))))
def test_an_array_keeps_every_pixel_also_as_floats(array: Any) -> None:
    assert (pixels(file_of(array, "x")) == array).all()
    assert (pixels(file_of(array / 255, "x")) == array).all()


@pytest.mark.parametrize(
    ("array", "got"),
    [
        (np.zeros((2, 2, 7), np.uint8), "an array of 2 x 2 x 7, uint8"),
        (np.zeros(4, np.uint8), "an array of 4, uint8"),
        (np.zeros((0, 4), np.uint8), "an array of 0 x 4, uint8"),
        (np.full((2, 2), 128), "an array of 2 x 2, int64"),
        (np.full((2, 2), 1.5), "an array of 2 x 2, float64"),
        (np.full((2, 2), np.nan), "an array of 2 x 2, float64"),
    ],
)
def test_an_array_that_is_no_picture_is_refused_with_its_shape(
    array: object, got: str
) -> None:
    with pytest.raises(InputError, match=r"height x width.*Nothing was sent") as raised:
        file_of(array, "image_url")
    assert raised.value.got == got


@pytest.mark.parametrize("dtype", [np.uint8, np.float64])
def test_masked_values_of_an_array_are_black(dtype: Any) -> None:
    mask = np.eye(4, dtype=bool)
    array = np.ma.masked_array(np.ones((4, 4), dtype), mask)

    levels = pixels(file_of(array, "x"))
    assert (levels[mask] == 0).all()
    assert (levels[~mask] > 0).all()


@pytest.mark.parametrize("value", ["cat.png", Path("cat.png"), None, 5, ["a"], {}])
def test_other_values_are_unchanged(value: object) -> None:
    assert file_of(value, "image_url") is None


def test_media_are_found_wherever_the_function_takes_them(client: Client) -> None:
    compose = client.catalog.function("compose-video")
    keyframe = {"timestamp": np.int64(0), "duration": 500, "url": PICTURE}
    track = {"id": "a", "type": "image", "keyframes": (keyframe,)}

    plain: Any = plain_fields(compose, {"tracks": [track]})
    shown = plain["tracks"][0]["keyframes"][0]
    assert (pixels(Path(shown["url"])) == np.asarray(PICTURE)).all()
    assert type(shown["timestamp"]) is int


def test_an_array_of_numbers_is_no_picture_where_numbers_are_wanted(
    client: Client,
) -> None:
    keyframes = client.catalog.function("keyframes")

    fields = {"transition_durations_s": np.array([3, 4]), "images": [PICTURE, "b.png"]}
    plain: Any = plain_fields(keyframes, fields)
    assert plain["transition_durations_s"] == [3, 4]
    assert plain["images"][1] == "b.png"


def test_pictures_from_code_are_uploaded_and_paid_once(
    client: Client, tmp_path: Path
) -> None:
    from_memory = client.submit("image-upscale", image_url=PICTURE)
    path = tmp_path / "picture.png"
    path.write_bytes(encoded("PNG"))

    again = client.submit("image-upscale", image_url=path)
    assert again.id == from_memory.id
    assert again.reused
    assert str(again.state.body["image_url"]).startswith("http")


class Tensor:
    """Numbers of another library, which numpy can read."""

    shape = (48, 64)

    def __array__(self, dtype: object = None, copy: object = None) -> Any:
        return np.asarray(PICTURE.convert("L")) / 255


def written_file(folder: Path) -> Any:
    file = NamedTemporaryFile(dir=folder)  # noqa: SIM115 - closed by the test
    file.write(encoded("PNG"))  # neither flushed nor wound back
    return file


def open_file(folder: Path) -> Any:
    path = folder / "picture.png"
    path.write_bytes(encoded("PNG"))
    return path.open("rb")


@pytest.mark.parametrize(
    "make", [written_file, open_file, lambda _: BytesIO(encoded("PNG"))]
)
def test_an_open_file_is_the_medium_that_is_in_it(
    client: Client, tmp_path: Path, make: Callable[[Path], Any]
) -> None:
    with make(tmp_path) as file:
        place = file.tell()
        job = client.submit("image-upscale", image_url=file)
        assert file.tell() == place
    path = tmp_path / "a.png"
    path.write_bytes(encoded("PNG"))
    assert client.submit("image-upscale", image_url=path).id == job.id


def test_a_path_of_any_kind_and_a_tensor_are_taken(
    client: Client, tmp_path: Path
) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(encoded("PNG"))

    by_path = client.submit("image-upscale", image_url=path)
    assert client.submit("image-upscale", image_url=PurePath(path)).id == by_path.id
    assert client.upload(PurePath(path)) == client.upload(path)
    assert pixels(file_of(Tensor(), "x")).shape == (48, 64)


@pytest.mark.parametrize("value", [object(), StringIO("text"), date(2026, 1, 1)])
def test_a_field_of_a_medium_says_what_it_takes(client: Client, value: object) -> None:
    with pytest.raises(InputError, match="opened in binary mode") as refusal:
        client.estimate("image-upscale", image_url=value)
    assert refusal.value.field == "image_url"


def test_a_broken_clip_is_refused_as_a_clip(client: Client, tmp_path: Path) -> None:
    clip = tmp_path / "clip.mp4"
    clip.write_bytes(b"no clip at all, but long enough to look at" * 20)

    with pytest.raises(InputError, match="must be a clip"):
        client.upload(clip)


def test_bytes_of_something_else_are_refused_before_anything_is_sent(
    client: Client,
) -> None:
    with pytest.raises(InputError, match=r"Nothing was sent"):
        client.submit("image-upscale", image_url=b"not a picture")
    assert client.history.frame().empty
