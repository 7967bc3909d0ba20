"""Serving files: types, ranges, HEAD, other origins (spec 2.1, 2.3)."""

import httpx
import pytest

from tests.sandbox.conftest import Api, without_key

CONTENT = bytes(range(256)) * 8


@pytest.fixture(scope="module")
def url(idle: Api) -> str:
    return idle.upload("video/mp4", CONTENT)


def get(url: str, **headers: str) -> httpx.Response:
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return without_key("GET", url, headers=names)


def test_a_file_has_its_type_and_is_readable_from_any_origin(url: str) -> None:
    answer = get(url)

    assert answer.content == CONTENT
    assert answer.headers["content-type"] == "video/mp4"
    assert answer.headers["accept-ranges"] == "bytes"
    assert answer.headers["access-control-allow-origin"] == "*"
    assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    ("asked", "start", "stop"),
    [("bytes=0-9", 0, 10), ("bytes=2000-", 2000, 2048), ("bytes=-10", 2038, 2048)],
)
def test_a_range_request_returns_only_those_bytes(
    url: str, asked: str, start: int, stop: int
) -> None:
    answer = get(url, Range=asked)

    assert answer.status_code == 206
    assert answer.content == CONTENT[start:stop]
    assert answer.headers["content-range"] == f"bytes {start}-{stop - 1}/2048"
    assert answer.headers["content-type"] == "video/mp4"


def test_a_range_behind_the_end_is_416(url: str) -> None:
    assert get(url, Range="bytes=5000-").status_code == 416


def test_head_returns_the_size_without_the_bytes(url: str) -> None:
    answer = without_key("HEAD", url)

    assert answer.headers["content-length"] == "2048"
    assert answer.content == b""
