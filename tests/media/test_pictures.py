"""Pictures of all modes, orientations and sizes, in files and in memory."""

from __future__ import annotations

import json
import os
import stat
import struct
import subprocess
import sys
import warnings
import zlib
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageCms, ImageOps

from mediakit import Client
from mediakit.errors import InputError, JobFailedError
from mediakit.media import file_of, placeholder, poster_jpeg, probe
from mediakit.media.samples import sampled_lumas
from tests.sandbox.jobs.hostile import bomb_png
from tests.support.samples.media_samples import make_jpeg, make_picture

RAMP = np.tile(np.arange(256, dtype=np.uint8), (16, 1))


def sixteen() -> Any:
    return RAMP.astype(np.uint16) * 257


def big_endian() -> Image.Image:
    return Image.frombytes("I;16B", (256, 16), sixteen().astype(">u2").tobytes())


# A ramp from black to white in each mode; its mean is 127.5 by arithmetic.
RAMPS: dict[str, Any] = {
    "L": lambda: Image.fromarray(RAMP),
    "I;16": lambda: Image.fromarray(sixteen()),
    "I;16B": big_endian,
    "F": lambda: Image.fromarray((RAMP / 255).astype(np.float32)),
    "LA": lambda: Image.fromarray(RAMP).convert("LA"),
    "La": lambda: Image.fromarray(RAMP).convert("LA").convert("La"),
    "RGBa": lambda: Image.fromarray(RAMP).convert("RGBA").convert("RGBa"),
    "RGB": lambda: Image.fromarray(RAMP).convert("RGB"),
    "P": lambda: Image.fromarray(RAMP).convert("P"),
    "CMYK": lambda: Image.fromarray(RAMP).convert("RGB").convert("CMYK"),
    "YCbCr": lambda: Image.fromarray(RAMP).convert("RGB").convert("YCbCr"),
    "HSV": lambda: Image.fromarray(RAMP).convert("RGB").convert("HSV"),
}


def shares(path: Path) -> Any:
    """Return the levels of a picture from 0 to 1."""
    with Image.open(path) as image:
        if image.mode == "I;16":
            return np.asarray(image) / 65_535
        return np.asarray(image.convert("RGB").convert("L")) / 255


@pytest.mark.parametrize("mode", RAMPS)
def test_a_pillow_picture_of_any_mode_keeps_its_levels(mode: str) -> None:
    path = file_of(RAMPS[mode](), "image_url")

    assert path is not None
    assert np.abs(shares(path) - RAMP / 255).max() < 0.02


@pytest.mark.parametrize(
    "picture",
    [
        Image.fromarray(np.full((4, 4), 40_000, np.int32)),
        Image.fromarray(np.full((4, 4), 200, np.float32)),
    ],
    ids=["I", "F beyond 1"],
)
def test_numbers_without_a_scale_are_refused_as_those_of_arrays(
    picture: Image.Image,
) -> None:
    with pytest.raises(InputError, match="an array of 4 x 4") as refusal:
        file_of(picture, "image_url")
    assert refusal.value.field == "image_url"


def saved(folder: Path, kind: str, image: Image.Image) -> Path:
    path = folder / f"a.{kind}"
    image.save(path)
    return path


@pytest.mark.parametrize(
    ("kind", "mode"), [("png", "I;16"), ("tif", "I;16B"), ("tif", "I;16"), ("tif", "F")]
)
def test_deep_pictures_have_posters_and_scores_in_their_own_levels(
    tmp_path: Path, kind: str, mode: str
) -> None:
    path = saved(tmp_path, kind, RAMPS[mode]())

    with Image.open(BytesIO(poster_jpeg(path))) as poster:
        assert np.abs(np.asarray(poster.convert("L")) - RAMP.astype(int)).max() < 8
    assert np.abs(sampled_lumas(path, 1)[0] - RAMP.astype(int)).max() < 3


def test_a_poster_has_white_where_a_picture_is_transparent(tmp_path: Path) -> None:
    cut_out = make_picture((64, 48), (10, 20, 30, 0), "plain")

    with Image.open(BytesIO(poster_jpeg(saved(tmp_path, "png", cut_out)))) as poster:
        assert np.asarray(poster).min() > 250


@pytest.mark.parametrize("orientation", range(1, 9))
def test_a_photo_opened_with_pillow_is_as_upright_as_its_file(
    tmp_path: Path, orientation: int
) -> None:
    path = make_jpeg(tmp_path / "a.jpg", (96, 64), orientation=orientation)
    with Image.open(path) as photo:
        in_memory = file_of(photo, "image_url")
        upright = np.asarray(ImageOps.exif_transpose(photo)).astype(int)

    assert in_memory is not None
    by_path, by_object = (
        np.asarray(Image.open(BytesIO(poster_jpeg(each)))).astype(int)
        for each in (path, in_memory)
    )
    for poster in (by_path, by_object):
        assert poster.shape == upright.shape
        assert np.abs(poster - upright).mean() < 3
    info = probe(path, "image", "a")
    assert (info.height, info.width) == by_path.shape[:2]


@pytest.mark.parametrize("orientation", [1, 6])
def test_a_turned_tiff_has_the_size_at_which_it_is_shown(
    tmp_path: Path, orientation: int
) -> None:
    exif = Image.Exif()
    exif[274] = orientation
    path = tmp_path / "a.tif"
    make_picture((96, 64)).save(path, exif=exif)

    info = probe(path, "image", "a")
    with Image.open(BytesIO(poster_jpeg(path))) as poster:
        assert (info.width, info.height) == poster.size
    assert info.width == (64 if orientation == 6 else 96)


def truncated(folder: Path) -> Image.Image:
    path = folder / "a.png"
    make_picture((64, 64), pattern="stripes").save(path)
    return Image.open(BytesIO(path.read_bytes()[:300]))


def closed(folder: Path) -> Image.Image:
    picture = truncated(folder)
    picture.close()
    return picture


def empty(folder: Path) -> Image.Image:
    return Image.new("RGB", (0, 5))


@pytest.mark.parametrize("make", [truncated, closed, empty])
def test_a_pillow_picture_that_cannot_be_saved_is_refused_by_its_field(
    client: Client, tmp_path: Path, make: Any
) -> None:
    for act in (client.estimate, client.submit):
        with pytest.raises(InputError, match="cannot be saved") as refusal:
            act("image-upscale", image_url=make(tmp_path))
        assert refusal.value.field == "image_url"
    assert client.history.frame().empty


POSTSCRIPT = (
    b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 64 64\n%%EndComments\nshowpage\n"
)


def test_postscript_runs_no_program_whatever_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ghostscript, traces = tmp_path / "bin" / "gs", tmp_path / "traces"
    ghostscript.parent.mkdir()
    ghostscript.write_text(f"#!/bin/sh\ntouch {traces}\n")
    ghostscript.chmod(ghostscript.stat().st_mode | stat.S_IEXEC)
    monkeypatch.setenv("PATH", f"{ghostscript.parent}{os.pathsep}{os.environ['PATH']}")
    path = tmp_path / "a.png"
    path.write_bytes(POSTSCRIPT)

    with pytest.raises((OSError, ValueError)):
        poster_jpeg(path)
    with pytest.raises((OSError, ValueError)):
        sampled_lumas(path, 1)
    with pytest.raises(InputError):
        probe(path, "image", "a")
    assert not traces.exists()


def test_a_picture_of_more_pixels_than_are_accepted_is_refused_by_its_header(
    client: Client, tmp_path: Path
) -> None:
    path = tmp_path / "bomb.png"
    path.write_bytes(bomb_png(13_300))

    with pytest.raises(InputError, match="50 megapixels"):
        client.submit("image-upscale", image_url=path)
    with pytest.raises(ValueError, match="50 megapixels"):
        poster_jpeg(path)


def test_exif_data_behind_the_pixels_of_a_png_turns_it(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    make_picture((96, 64)).save(path)
    exif = Image.Exif()
    exif[274] = 6
    content = exif.tobytes().removeprefix(b"Exif\0\0")
    chunk = b"eXIf" + content
    late = len(content).to_bytes(4) + chunk + zlib.crc32(chunk).to_bytes(4)
    whole = path.read_bytes()
    path.write_bytes(whole[:-12] + late + whole[-12:])

    info = probe(path, "image", "a")
    assert (info.width, info.height) == (64, 96)
    with Image.open(BytesIO(poster_jpeg(path))) as poster:
        assert poster.size == (64, 96)


# A directory of EXIF data that promises five entries and ends after one.
CUT_OFF_EXIF = b"Exif\0\0II*\0\x08\0\0\0\x05\0\x12\x01\x03\0\x01\0\0\0\x01\0\0\0"


def with_cut_off_exif(folder: Path, kind: str) -> Path:
    path = folder / "a"
    make_picture((96, 64)).save(path, kind, exif=CUT_OFF_EXIF)
    return path


def with_a_tag_beyond_the_end(folder: Path, kind: str) -> Path:
    path = folder / "a"
    make_picture((96, 64)).save(path, kind, dpi=(72, 72))
    content = bytearray(path.read_bytes())
    (start,) = struct.unpack_from("<I", content, 4)
    (entries,) = struct.unpack_from("<H", content, start)
    for at in range(start + 2, start + 2 + 12 * entries, 12):
        if content[at : at + 2] == (282).to_bytes(2, "little"):  # XResolution
            struct.pack_into("<I", content, at + 8, 10_000_000)
    path.write_bytes(content)
    return path


def with_no_frames(folder: Path, kind: str) -> Path:
    path = folder / "a"
    make_picture((96, 64)).save(path, kind)
    content, chunk = path.read_bytes(), b"acTL" + bytes(8)
    animation = struct.pack(">I", 8) + chunk + struct.pack(">I", zlib.crc32(chunk))
    path.write_bytes(content[:33] + animation + content[33:])
    return path


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (with_cut_off_exif, "JPEG"),
        (with_cut_off_exif, "PNG"),
        (with_cut_off_exif, "WEBP"),
        (with_a_tag_beyond_the_end, "TIFF"),
        (with_no_frames, "PNG"),
    ],
)
def test_a_readable_picture_causes_no_warning(
    tmp_path: Path, make: Any, kind: str
) -> None:
    path = make(tmp_path, kind)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert probe(path, "image", "a").width == 96
        assert len(poster_jpeg(path)) > 0
        assert sampled_lumas(path, 1)[0].shape == (64, 96)
    assert caught == []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the user's own call
        picture = Image.open(path)
    assert file_of(picture, "image_url") is not None


def exchanged_profile() -> bytes:
    """Return sRGB with the colorants of red and green exchanged (ICC.1, 7.3)."""
    profile = bytearray(
        ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    )
    entries = {bytes(profile[at : at + 4]): at for at in range(132, 132 + 12 * 20, 12)}
    red, green = entries[b"rXYZ"] + 4, entries[b"gXYZ"] + 4
    places = bytes(profile[red : red + 8]), bytes(profile[green : green + 8])
    profile[green : green + 8], profile[red : red + 8] = places
    return bytes(profile)


def linear_grey_profile() -> bytes:
    """Return a profile of grey levels that are proportional to light (ICC.1, 8.4)."""

    white = struct.pack(">3i", *(round(n * 65_536) for n in (0.9642, 1, 0.8249)))
    tags = {b"wtpt": b"XYZ " + bytes(4) + white, b"kTRC": b"curv" + bytes(8)}
    table, content = struct.pack(">I", len(tags)), b""
    for name, tag in tags.items():
        at = 128 + 4 + 12 * len(tags) + len(content)
        table += name + struct.pack(">2I", at, len(tag))
        content += tag
    header = bytearray(128)
    header[0:4] = struct.pack(">I", 128 + len(table) + len(content))
    header[8:24] = b"\x02\x40\0\0mntrGRAYXYZ "
    header[36:40], header[68:80] = b"acsp", white
    return bytes(header) + table + content


EXCHANGED = Image.new("RGB", (64, 48), (200, 30, 30))  # green by its profile
LINEAR = Image.new("L", (64, 48), 128)  # 188 in sRGB (IEC 61966-2-1)


@pytest.mark.parametrize(
    ("kind", "picture", "colour"),
    [
        ("PNG", EXCHANGED, (30, 200, 30)),
        ("JPEG", EXCHANGED, (30, 200, 30)),
        ("PNG", EXCHANGED.quantize(), (30, 200, 30)),
        ("PNG", LINEAR, (188, 188, 188)),
        ("JPEG", LINEAR, (188, 188, 188)),
        ("PNG", LINEAR.convert("LA"), (188, 188, 188)),
    ],
    ids=["PNG", "JPEG", "palette", "grey", "grey JPEG", "grey and alpha"],
)
def test_a_profile_is_applied_before_it_is_dropped(
    client: Client,
    tmp_path: Path,
    kind: str,
    picture: Image.Image,
    colour: tuple[int, int, int],
) -> None:
    is_grey = picture.mode in ("L", "LA")
    profile = linear_grey_profile() if is_grey else exchanged_profile()
    path = tmp_path / "a"
    picture.save(path, kind, icc_profile=profile)

    job = client.run("image-upscale", image_url=path)
    result = Image.open(job.download(tmp_path / "out.jpg"))
    for seen in (Image.open(BytesIO(poster_jpeg(path))), result):
        pixel = np.asarray(seen.convert("RGB"))[4, -4].astype(int)
        assert np.abs(pixel - colour).max() < 12


@pytest.mark.parametrize(
    ("kind", "mode"), [("JPEG", "CMYK"), ("PNG", "L"), ("PNG", "P"), ("PNG", "LA")]
)
def test_a_result_in_rgb_has_no_profile_of_other_channels(
    client: Client, tmp_path: Path, kind: str, mode: str
) -> None:
    path = tmp_path / "a"
    picture = Image.new("RGB", (64, 48), (10, 200, 30)).convert(mode)
    picture.save(path, kind, icc_profile=b"of other channels")

    job = client.run("image-upscale", image_url=path, output_format="png")
    with Image.open(job.download(tmp_path / "out.png")) as result:
        assert result.mode.startswith("RGB")
        assert "icc_profile" not in result.info


def test_a_picture_that_becomes_rgb_does_not_keep_the_profile_of_cmyk() -> None:
    picture = Image.new("CMYK", (8, 8), (10, 200, 30, 5))
    picture.info["icc_profile"] = b"of four inks"

    path = file_of(picture, "image_url")
    assert path is not None
    with Image.open(path) as written:
        assert (written.mode, "icc_profile" in written.info) == ("RGB", False)


@pytest.mark.parametrize("size", [(3, 5), (1, 1), (300, 4)])
def test_a_picture_of_a_few_pixels_is_enlarged_with_every_option(
    client: Client, tmp_path: Path, size: tuple[int, int]
) -> None:
    path = saved(tmp_path, "png", make_picture(size))

    job = client.run("image-upscale", image_url=path, sharpen=0.5, upscale_factor="x3")
    assert job.status == "completed"


def test_a_picture_that_is_too_wide_for_jpeg_is_enlarged_as_png(
    client: Client, tmp_path: Path
) -> None:
    path = saved(tmp_path, "png", Image.new("RGB", (33_000, 10), "teal"))

    with pytest.raises(JobFailedError, match='output_format="png"') as failure:
        client.run("image-upscale", image_url=path)
    assert failure.value.code == "invalid_input"
    job = client.run("image-upscale", image_url=path, output_format="png")
    assert job.status == "completed"


# Peak memory of a process of its own, before and after; in MB.
MEASURED = """
import json, re, sys, threading
from pathlib import Path
import PIL.Image, numpy
from mediakit.media import poster_jpeg, probe
path, small, threads = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
poster_jpeg(small), probe(small, "image", "a")
status = Path("/proc/self/status")  # getrusage also counts the parent's peak
peak = lambda: int(re.search(r"VmHWM:\\s*(\\d+)", status.read_text())[1]) / 1000
before = peak()
probe(path, "image", "a")
checked = peak()
sizes = []
def poster():
    try:
        sizes.append(len(poster_jpeg(path)))
    except ValueError:
        sizes.append(0)
each = [threading.Thread(target=poster) for _ in range(threads)]
[t.start() for t in each]
[t.join() for t in each]
print(json.dumps([checked - before, peak() - before, sizes]))
"""


# The side of the largest square of which a poster is made, in pixels.
SIDES_PX = {
    "png": 7_070,
    "jpg": 7_070,
    "progressive.jpg": 6_050,
    "webp": 3_590,
    "tif": 5_240,
    "gif": 6_050,
}


@pytest.mark.parametrize("kind", SIDES_PX)
def test_the_largest_picture_takes_little_memory_four_times_at_once(
    tmp_path: Path, kind: str
) -> None:
    large, small = tmp_path / f"large.{kind}", tmp_path / "small.png"
    side_px = SIDES_PX[kind]
    mode = "RGBA" if kind == "png" else "RGB"
    picture = Image.new(mode, (side_px, side_px), "teal")
    more: dict[str, Any] = {"progressive": True} if "progressive" in kind else {}
    picture.save(large, compress_level=1, method=0, **more)
    make_picture((64, 48)).save(small)
    del picture

    run = [sys.executable, "-c", MEASURED, str(large), str(small), "4"]
    result = subprocess.run(run, capture_output=True, text=True, check=True)
    checked_mb, peak_mb, sizes = json.loads(result.stdout)
    assert checked_mb < 60
    assert peak_mb < 300
    assert result.stderr == ""
    assert all(sizes)


def test_a_file_name_that_is_not_utf_8_is_a_name_like_any_other(
    client: Client, tmp_path: Path
) -> None:
    path = tmp_path / os.fsdecode(b"caf\xe9.png")
    make_picture((64, 48)).save(path)

    assert client.estimate("image-upscale", image_url=path).high == 126_000
    job = client.submit("image-upscale", image_url=str(path))
    assert job.wait(60).status == "completed"
    assert placeholder(str(path)) != placeholder(str(path.with_name("cafe.png")))


def test_a_name_with_half_a_character_is_no_file(client: Client) -> None:
    with pytest.raises(InputError, match="no such file"):
        client.estimate("image-upscale", image_url="\ud83d.png")
