"""Upload grants and the signed PUT (spec 2.3, 4.2)."""

from typing import Any

import httpx
import pytest

from tests.sandbox.conftest import Api, without_key

CONTENT = b"0123456789" * 100


def put(url: str, headers: dict[str, str], content: Any = CONTENT) -> httpx.Response:
    return without_key("PUT", url, content=content, headers=headers)


def assert_bare_403(answer: httpx.Response) -> None:
    assert answer.status_code == 403
    assert answer.content == b""
    assert "content-type" not in answer.headers


def test_a_grant_has_exactly_the_three_fields(idle: Api) -> None:
    granted = idle.grant("image/png", 1_000)

    assert set(granted) == {"upload_url", "headers", "url"}
    assert granted["headers"] == {"Content-Type": "image/png", "Content-Length": "1000"}
    assert granted["url"].endswith(".png")
    assert granted["upload_url"] != granted["url"]


def test_what_is_put_is_served_at_the_permanent_url_without_a_key(idle: Api) -> None:
    granted = idle.grant("image/png", len(CONTENT))
    assert without_key("GET", granted["url"]).status_code == 404

    assert put(granted["upload_url"], granted["headers"]).status_code == 200

    answer = without_key("GET", granted["url"])
    assert answer.content == CONTENT
    assert answer.headers["content-type"] == "image/png"
    # A lost answer may be asked for again.
    assert put(granted["upload_url"], granted["headers"]).status_code == 200


@pytest.mark.parametrize(
    ("content_type", "content"),
    [
        ("image/jpeg", CONTENT),
        ("IMAGE/PNG", CONTENT),
        ("image/png", CONTENT[:-1]),
        ("image/png", CONTENT + b"x"),
        ("image/png", b""),
        ("image/png", iter([CONTENT])),  # sent in chunks, without a length
    ],
)
def test_another_type_or_length_is_a_bare_403(
    idle: Api, content_type: str, content: Any
) -> None:
    granted = idle.grant("image/png", len(CONTENT))

    answer = put(granted["upload_url"], {"Content-Type": content_type}, content)

    assert_bare_403(answer)
    assert without_key("GET", granted["url"]).status_code == 404


def test_a_changed_url_is_a_bare_403(idle: Api) -> None:
    granted = idle.grant("image/png", len(CONTENT))
    other = idle.grant("image/jpeg", len(CONTENT))
    name = granted["url"].rpartition("/")[2].partition(".")[0]

    assert_bare_403(put(f"{granted['upload_url']}x", granted["headers"]))
    assert_bare_403(put(other["upload_url"], granted["headers"]))
    # Who may read a file may not replace it.
    assert_bare_403(put(f"{idle.running.base_url}/uploads/{name}", granted["headers"]))


def test_a_put_that_breaks_off_leaves_nothing(idle: Api) -> None:
    granted = idle.grant("video/mp4", 1_000_000)

    def broken() -> Any:
        yield b"x" * 500_000
        raise ConnectionError

    with pytest.raises(ConnectionError):
        without_key(
            "PUT", granted["upload_url"], content=broken(), headers=granted["headers"]
        )

    name = granted["url"].rsplit("/", 1)[1].split(".")[0]
    files = idle.running.data_dir / "files"
    idle.http.get("/billing/balance")
    assert without_key("GET", granted["url"]).status_code == 404
    assert not (files / name).exists()


# -- serving ---------------------------------------------------------------------------


SERVED = bytes(range(256)) * 8


@pytest.fixture(scope="module")
def served_url(idle: Api) -> str:
    return idle.upload("video/mp4", SERVED)


def get(served_url: str, **headers: str) -> httpx.Response:
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return without_key("GET", served_url, headers=names)


def test_a_file_has_its_type_and_is_readable_from_any_origin(served_url: str) -> None:
    answer = get(served_url)

    assert answer.content == SERVED
    assert answer.headers["content-type"] == "video/mp4"
    assert answer.headers["accept-ranges"] == "bytes"
    assert answer.headers["access-control-allow-origin"] == "*"
    assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    ("asked", "start", "stop"),
    [("bytes=0-9", 0, 10), ("bytes=2000-", 2000, 2048), ("bytes=-10", 2038, 2048)],
)
def test_a_range_request_returns_only_those_bytes(
    served_url: str, asked: str, start: int, stop: int
) -> None:
    answer = get(served_url, Range=asked)

    assert answer.status_code == 206
    assert answer.content == SERVED[start:stop]
    assert answer.headers["content-range"] == f"bytes {start}-{stop - 1}/2048"
    assert answer.headers["content-type"] == "video/mp4"


def test_a_range_behind_the_end_is_416(served_url: str) -> None:
    assert get(served_url, Range="bytes=5000-").status_code == 416


def test_head_answers_the_size_without_the_bytes(served_url: str) -> None:
    answer = without_key("HEAD", served_url)

    assert answer.headers["content-length"] == "2048"
    assert answer.content == b""
