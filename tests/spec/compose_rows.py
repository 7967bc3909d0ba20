"""Bodies of section 4.14 that are too long to write out, by the name of their row."""

from typing import Any

URL = "https://a.test/"


def _still(timestamp_ms: int, url: str = f"{URL}1.png") -> dict[str, Any]:
    return {"timestamp": timestamp_ms, "duration": 1, "url": url}


def _track(name: str, keyframes: int = 1, kind: str = "image") -> dict[str, Any]:
    rows = [_still(number) for number in range(keyframes)]
    return {"id": name, "type": kind, "keyframes": rows}


def _tracks(*keyframes: int) -> dict[str, Any]:
    return {"tracks": [_track(f"t{n}", count) for n, count in enumerate(keyframes)]}


def _url_of(characters: int) -> dict[str, Any]:
    still = _still(0, URL + "a" * (characters - len(URL)))
    return {"tracks": [{"id": "t", "type": "image", "keyframes": [still]}]}


def _id_of(characters: int) -> dict[str, Any]:
    return {"tracks": [_track("a" * characters)]}


BODIES: dict[str, dict[str, Any]] = {
    "8 tracks": _tracks(*[1] * 8),
    "9 tracks": _tracks(*[1] * 9),
    "8 tracks of 4 keyframes": _tracks(*[4] * 8),
    "32 keyframes in one track": _tracks(32),
    "33 keyframes in one track": _tracks(33),
    "32 keyframes in two tracks": _tracks(31, 1),
    "33 keyframes in two tracks": _tracks(32, 1),
    "33 keyframes in eight tracks": _tracks(5, *[4] * 7),
    "33 keyframes, one of them a sound": {
        "tracks": [_track("t0", 32), _track("t1", 1, "audio")]
    },
    "a url of 4,096 characters": _url_of(4096),
    "a url of 4,097 characters": _url_of(4097),
    "an id of 64 characters": _id_of(64),
    "an id of 65 characters": _id_of(65),
}
