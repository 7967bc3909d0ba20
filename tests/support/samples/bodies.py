"""Bodies that a model function accepts, drawn from its fields and rules."""

from __future__ import annotations

from typing import Any

from hypothesis import assume
from hypothesis import strategies as st

from mediakit.catalog import Function
from mediakit.rules import Problem
from mediakit.schema import FieldSpec

MOST_ROUNDS = 6
URLS = {
    "image": [f"https://a.test/{n}.png" for n in range(3)],
    "video": [f"https://a.test/{n}.mp4" for n in range(3)],
    "audio": [f"https://a.test/{n}.wav" for n in range(3)],
}


@st.composite
def accepted_bodies(draw: st.DrawFn, function: Function) -> dict[str, Any]:
    """Draw a body field by field, and fix violations of its rules."""
    body: dict[str, Any] = {}
    for name, spec in function.fields.items():
        if spec.required or draw(st.booleans()):
            body[name] = draw(values(spec))
    _lay_out(body)
    for _ in range(MOST_ROUNDS):
        for problem in function.check(body):
            _mend(draw, function, body, problem)
    assume(function.check(body) == [])
    return body


def _mend(
    draw: st.DrawFn, function: Function, body: dict[str, Any], problem: Problem
) -> None:
    spec = function.fields[problem.root]
    if problem.got is None or spec.required or problem.root == "loop":
        body[spec.name] = True if spec.name == "loop" else draw(values(spec))
        _lay_out(body)
    else:
        body.pop(spec.name, None)


def _lay_out(body: dict[str, Any]) -> None:
    """Arrange the keyframes of each track in sequence, and name the tracks."""
    for number, track in enumerate(body.get("tracks", [])):
        track["id"] = f"{track['id'][:60]}-{number}"
        free_at = 0.0
        for keyframe in track["keyframes"]:
            keyframe["timestamp"] = max(free_at, keyframe["timestamp"])
            free_at = keyframe["timestamp"] + keyframe["duration"]


def values(spec: FieldSpec) -> st.SearchStrategy[Any]:
    """Draw values that a field accepts."""
    return _VALUES[spec.kind](spec)


def _integers(spec: FieldSpec) -> st.SearchStrategy[Any]:
    low = None if spec.low is None else int(spec.low)
    return st.integers(low, None if spec.high is None else int(spec.high))


def _numbers(spec: FieldSpec) -> st.SearchStrategy[Any]:
    return st.floats(spec.low, 30_000 if spec.high is None else spec.high)


def _objects(spec: FieldSpec) -> st.SearchStrategy[Any]:
    inner = {name: values(each) for name, each in spec.fields.items()}
    return st.fixed_dictionaries(inner)


def _lists(spec: FieldSpec) -> st.SearchStrategy[list[Any]]:
    if spec.item is None:
        raise TypeError(f"{spec.name} does not say what its items are")
    most = min(spec.max_length or 3, 3 if spec.item.kind != "media" else 9)
    return st.lists(values(spec.item), min_size=spec.min_length or 0, max_size=most)


_VALUES = {
    "boolean": lambda _: st.booleans(),
    "choice": lambda spec: st.sampled_from(list(spec.choices)),
    "integer": _integers,
    "json": lambda _: st.none() | st.booleans() | st.integers() | st.text("ab"),
    "list": _lists,
    "media": lambda spec: st.sampled_from(URLS[spec.media_kind or "image"]),
    "number": _numbers,
    "object": _objects,
    # White space around text is not sent.
    "text": lambda spec: st.text(
        "ab @1", min_size=spec.min_length or 0, max_size=12
    ).filter(lambda text: text == text.strip()),
    "variants": lambda spec: st.one_of([values(v) for v in spec.variants.values()]),
}
