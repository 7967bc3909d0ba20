"""A saved file contains its request, and an untrusted file does no harm."""

from __future__ import annotations

import hashlib
import io
import json
from html import escape
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import av
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from mediakit import Client
from mediakit.client.recipes import (
    LOOKED_THROUGH_BYTES,
    Recipe,
    edits_of,
    parse_recipe,
    read_recipe,
    recipe_of,
    write_edits,
)
from mediakit.client.sidecar import Sidecar
from mediakit.errors import InputError

PATH = "sandbox/text-to-video/text-to-video"
RECIPE = Recipe(
    function=PATH,
    fields={"prompt": 'a "kite" & <b>dunes</b>, \N{KITE} ä', "duration": 5},
    job_id="media_1",
    charge_micro_usd=340_000,
)
PICTURE = Image.fromarray(np.arange(48 * 36 * 4, dtype="uint8").reshape(36, 48, 4))


def picture(form: str, mode: str = "RGB", **how: Any) -> bytes:
    out = io.BytesIO()
    PICTURE.convert(mode).save(out, form, **how)
    return out.getvalue()


def film(form: str, **how: Any) -> bytes:
    # The header moves to the front of a file that has a name.
    path = Path(mkdtemp()) / f"film.{form}"
    with av.open(path, "w", format=form, **how) as target:
        stream = target.add_stream("libx264", rate=24)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        for number in range(12):
            image = np.full((48, 64, 3), number * 20, dtype="uint8")
            frame = av.VideoFrame.from_ndarray(image, format="rgb24")
            target.mux(stream.encode(frame))
        target.mux(stream.encode())
    return path.read_bytes()


FILES = {
    "a.png": picture("PNG", "RGBA"),
    "a.jpg": picture("JPEG"),
    "plain.webp": picture("WEBP"),
    "lossless.webp": picture("WEBP", "RGBA", lossless=True),
    "profiled.webp": picture("WEBP", icc_profile=b"no profile"),
    "a.mp4": film("mp4"),
    "first.mp4": film("mp4", options={"movflags": "faststart"}),
    "parts.mp4": film("mp4", options={"movflags": "frag_keyframe+empty_moov"}),
    "a.mov": film("mov"),
}


def with_recipe(content: bytes, recipe: Recipe = RECIPE) -> bytes:
    edits = edits_of(io.BytesIO(content), len(content), recipe.packet)
    out = io.BytesIO()
    at = 0
    for edit in edits:
        out.write(content[at : edit.start] + edit.content)
        at = edit.end
    out.write(content[at:])
    return out.getvalue()


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def seen(name: str, content: bytes) -> list[str]:
    """Return the hash of each frame that players show."""
    if name.endswith(("mp4", "mov")):
        with av.open(io.BytesIO(content), "r") as file:
            frames = [(each.pts, each.to_ndarray()) for each in file.decode(video=0)]
        return [f"{pts} {digest(pixels.tobytes())}" for pts, pixels in frames]
    with Image.open(io.BytesIO(content)) as image:
        return [f"{image.size} {image.mode} {digest(image.tobytes())}"]


@pytest.mark.parametrize("name", FILES)
def test_a_recipe_changes_no_frame_and_can_be_read_back(
    name: str, tmp_path: Path
) -> None:
    before, path = FILES[name], tmp_path / name
    path.write_bytes(before)
    with path.open("rb") as file:
        edits = edits_of(file, len(before), RECIPE.packet)
    with (tmp_path / "out").open("wb") as target:
        write_edits(path, edits, target)
    after = (tmp_path / "out").read_bytes()

    assert after == with_recipe(before)
    assert len(after) > len(before)
    assert seen(name, after) == seen(name, before)
    path.write_bytes(after)
    assert read_recipe(path) == RECIPE


@pytest.mark.parametrize("name", [n for n in FILES if not n.endswith(("mp4", "mov"))])
def test_other_programs_find_the_recipe_where_xmp_belongs(name: str) -> None:
    with Image.open(io.BytesIO(with_recipe(FILES[name]))) as image:
        image.load()
        xmp = image.info.get("xmp") or image.info["XML:com.adobe.xmp"]
    text = xmp.decode() if isinstance(xmp, bytes) else xmp
    assert "urn:mediakit:recipe:1" in text
    assert escape("<b>dunes</b>") in text


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"RIFF\x04\0\0\0WEBP",
        b"\x89PNG\r\n\x1a\n",
        b"\0\0\0\x08ftyp\0\0\0\0mdat" + b"goes on to the end",
        FILES["a.mp4"][:-7],
        b"ID3 a sound",
        picture("GIF"),
    ],
)
def test_a_file_of_a_format_without_metadata_is_unchanged(content: bytes) -> None:
    assert with_recipe(content) == content


def test_a_recipe_that_is_too_long_is_left_out() -> None:
    long = RECIPE.model_copy(update={"fields": {"prompt": "ä" * 70_000}})
    assert with_recipe(FILES["a.jpg"], long) == FILES["a.jpg"]


def test_no_key_no_signed_url_and_no_webhook_is_in_a_recipe() -> None:
    body = {
        "prompt": "a kite",
        "note": "my key is sk-secret, keep it",
        "video": "https://a.test/a.mp4?X-Amz-Signature=abc",
        "masked": "https://a.test/a.mp4?…",
        "pictures": ["https://a.test/a.png", "https://me:word@a.test/b.png"],
        "tracks": [{"url": "https://a.test/c.mp4?token=abc", "duration": 5}],
        "text": "see https://a.test/d?sig=abc",
        "webhook_url": "https://a.test/hook/secret",
    }
    sidecar = Sidecar(job_id="media_1", service="s", function=PATH, body=body)
    recipe = recipe_of(sidecar, "sk-secret")
    assert recipe is not None
    assert recipe.fields == {
        "prompt": "a kite",
        "pictures": ["https://a.test/a.png"],
        "tracks": [{"duration": 5}],
    }
    text = recipe.packet.decode()
    for secret in ("sk-secret", "Signature", "word", "token", "hook"):
        assert secret not in text


def packet(text: str) -> bytes:
    return f"<mk:recipe>{text}</mk:recipe>".encode()


HOSTILE = [
    "",
    "[]",
    "nonsense",
    "&#0;",
    "{" * 50_000,
    '{"mediakit_recipe":1}',
    '{"mediakit_recipe":2,"function":"a","fields":{},"job_id":"b"}',
    '{"mediakit_recipe":1,"function":1,"fields":[],"job_id":null}',
    '{"mediakit_recipe":1,"function":"a","fields":{},"job_id":"b",'
    '"charge_micro_usd":-1}',
    "&xxe;" * 1000,
    "x" * 70_000,
]


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: text[:20])
def test_invalid_recipes_are_read_as_none(text: str, tmp_path: Path) -> None:
    assert parse_recipe(packet(text)) is None
    path = tmp_path / "a.png"
    path.write_bytes(packet(text))
    with pytest.raises(InputError, match="from_file must be a file that mediakit"):
        read_recipe(path)


@given(st.binary(max_size=400))
def test_any_bytes_are_read_as_a_recipe_or_none(content: bytes) -> None:
    parse_recipe(content)
    with_recipe(content)


def test_a_recipe_is_searched_only_at_both_ends_of_a_file(tmp_path: Path) -> None:
    path, air = tmp_path / "a.bin", b"\0" * LOOKED_THROUGH_BYTES
    path.write_bytes(air + air + RECIPE.packet)
    assert read_recipe(path) == RECIPE
    path.write_bytes(air + RECIPE.packet + air)
    with pytest.raises(InputError):
        read_recipe(path)


def test_a_download_is_as_delivered_unless_a_recipe_is_wanted(
    own_client: Client, tmp_path: Path
) -> None:
    job = own_client.run("text-to-image", prompt="a red kite")
    plain = job.download(tmp_path / "plain.png")
    assert plain.read_bytes() == job.fetch_output(10**8)

    carrying = job.download(tmp_path / "carrying.png", recipe=True)

    assert seen("a.png", carrying.read_bytes()) == seen("a.png", plain.read_bytes())
    recipe = read_recipe(carrying)
    assert (recipe.job_id, recipe.fields) == (job.id, {"prompt": "a red kite"})
    assert recipe.charge_micro_usd == job.settle().charge_micro_usd
    said = json.loads((tmp_path / "carrying.png.json").read_bytes())
    assert said["sha256"] == digest(carrying.read_bytes())
    assert said["size_bytes"] == carrying.stat().st_size
    assert said["delivered_sha256"] == digest(plain.read_bytes())
    assert said["delivered_size_bytes"] == plain.stat().st_size
    # It is recognised, and not fetched again.
    assert job.download(tmp_path / "carrying.png", recipe=True) == carrying


def test_a_form_begins_with_the_request_in_a_file(
    own_client: Client, tmp_path: Path
) -> None:
    values: dict[str, Any] = {
        "prompt": "a blue kite",
        "duration": 4,
        "aspect_ratio": "9:16",
    }
    job = own_client.run("text-to-video", **values)
    path = job.download(tmp_path / "kite.mp4", recipe=True)

    form = own_client.form(from_file=path, resolution="1080p")

    assert form.function.kind == "text-to-video"
    assert {name: form.values[name] for name in values} == values
    assert form.values.resolution == "1080p"
    form.close()
    with pytest.raises(InputError, match="a file that sandbox/r1"):
        own_client.form("r1", from_file=path)
    (tmp_path / "kite.mp4").write_bytes(b"no recipe here")
    beside = own_client.form(from_file=path)  # the JSON file is next to it
    assert beside.values.prompt == "a blue kite"
    beside.close()


def test_a_form_takes_plain_values_but_no_media_from_an_untrusted_file(
    own_client: Client, tmp_path: Path
) -> None:
    fields = {
        "prompt": "<img src=x onerror=alert(1)>",
        "duration": 5,
        "resolution": "900p",
        "image_urls": ["http://127.0.0.1:1/secret.png", "/etc/passwd"],
        "video_urls": ["file:///etc/passwd"],
        "webhook_url": "https://evil.test",
        "__class__": "x",
        "ratio": {"a": "b"},
    }
    function = own_client.catalog.function("r1").path
    stranger = Recipe(function=function, fields=fields, job_id="media_other")
    path = tmp_path / "theirs.png"
    path.write_bytes(with_recipe(FILES["a.png"], stranger))

    form = own_client.form(from_file=path)

    body = form.request()
    assert body["prompt"] == fields["prompt"]
    assert body["duration"] == 5
    for name in ("image_urls", "video_urls", "webhook_url", "__class__", "ratio"):
        assert name not in body
    assert body["resolution"] == "720p"
    assert not form.state.inspections
    form.close()
