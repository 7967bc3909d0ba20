"""The protocol of the worker: one JSON object a line for requests and responses."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

from mediakit.media_limits import MediaLimits
from mediakit.rules import Problem

# Requests of these kinds render nothing. The response to the first means that the
# worker is ready; the response to the second has the lengths of the inputs.
WARM = "warm"
PROBE = "probe"

T = TypeVar("T")
Code = Literal["invalid_input", "internal", "timed_out"]


class RenderError(Exception):
    """A job that cannot be rendered, with its code of spec 7.3 and one sentence."""

    def __init__(self, code: Code, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message

    @classmethod
    def invalid(cls, message: str) -> "RenderError":
        """Return an error in the caller's input."""
        return cls("invalid_input", message)

    @classmethod
    def internal(cls, message: str) -> "RenderError":
        """Return an error of the sandbox."""
        return cls("internal", message)

    @classmethod
    def of(cls, problems: Sequence[Problem]) -> "RenderError":
        """Return an error that names the invalid inputs and what is accepted."""
        sentences = (
            f"{each.field}: got {each.got}, accepted are {each.accepted}."
            for each in problems
        )
        return cls.invalid(" ".join(sentences))


@dataclass(frozen=True)
class RenderRequest:
    """One job to render.

    Attributes:
        job: The job's id, repeated in the response.
        kind: The function's kind, such as `text-to-video`.
        body: The canonical body: nulls dropped, defaults filled.
        inputs: The paths of the body's media on disk, by URL.
        output: The file to write.
        seed: The same body and seed give the same output.
        limits: The limits of the function for the media of each field.
        media_type: The type of the output: "video", "image" or "audio".
        media: The declared media type of each place in the body, such as "image" for
            "images[0]".
        sketch: Draw only the first frame of each shot, and scenery coarsely.
        changed: The fields of the body that are not a default; they are written on
            the output.
    """

    job: str
    kind: str
    body: Mapping[str, object]
    inputs: Mapping[str, Path]
    output: Path
    seed: int = 0
    limits: Mapping[str, MediaLimits] = field(default_factory=dict)
    media_type: str = "video"
    media: Mapping[str, str] = field(default_factory=dict)
    sketch: bool = False
    changed: Sequence[str] = ()

    def line(self) -> bytes:
        """Return the request as the line that the worker reads."""
        return json.dumps(vars(self), default=_plain).encode() + b"\n"

    def file(self, url: str) -> Path:
        """Return the path of the input `url` on disk."""
        path = self.inputs.get(url)
        if path is None:
            raise RenderError.internal("An input of the job was not fetched.")
        return path

    def limits_of(self, name: str) -> MediaLimits:
        """Return the limits of a field's media; no limits by default."""
        return self.limits.get(name, MediaLimits())


@dataclass(frozen=True)
class Rendered:
    """The result of a request: the file that was written.

    Attributes:
        content_type: The media type of the file.
        width: In pixels; None for a sound.
        height: In pixels; None for a sound.
        duration_ms: Length of a video or a sound; None for a picture.
        frames: Number of frames of a video; None for anything else.
        output_seconds: The same length in seconds; None for a picture.
    """

    content_type: str
    width: int | None
    height: int | None
    duration_ms: int | None = None
    frames: int | None = None
    output_seconds: float | None = None


def parse_request(line: bytes) -> RenderRequest:
    """Read one line of the worker's standard input.

    Raises:
        RenderError: The line is not a request; the code is `internal`, because only
            the server writes these lines.
    """
    try:
        fields = json.loads(line)
        return RenderRequest(
            job=_typed(fields["job"], str),
            kind=_typed(fields["kind"], str),
            body=_typed(fields["body"], dict),
            inputs={url: Path(path) for url, path in fields["inputs"].items()},
            output=Path(fields["output"]),
            seed=_typed(fields["seed"], int),
            limits=_limits(fields.get("limits", {})),
            media_type=_typed(fields.get("media_type", "video"), str),
            media=_typed(fields.get("media", {}), dict),
            sketch=_typed(fields.get("sketch", False), bool),
            changed=tuple(_typed(fields.get("changed", []), list)),
        )
    except (ValueError, TypeError, KeyError, AttributeError) as problem:
        raise RenderError.internal(
            f"The line is not a render request ({type(problem).__name__}: {problem})."
        ) from problem


def ready(job: str) -> bytes:
    """Return the response to a request of kind `warm`: everything is imported."""
    return json.dumps({"job": job, "ok": True}).encode() + b"\n"


def measured(job: str, seconds: Mapping[str, float]) -> bytes:
    """Return the response to a request of kind `probe`: each input's length by URL."""
    fields = {"job": job, "ok": True, "seconds": dict(seconds)}
    return json.dumps(fields).encode() + b"\n"


def answer(job: str | None, outcome: Rendered | RenderError) -> bytes:
    """Write one line of the worker's standard output."""
    fields: dict[str, object] = {"job": job}
    if isinstance(outcome, RenderError):
        fields |= {"ok": False, "code": outcome.code, "message": outcome.message}
    else:
        fields |= {"ok": True, **asdict(outcome)}
    return json.dumps(fields).encode() + b"\n"


def _plain(value: object) -> object:
    return asdict(value) if isinstance(value, MediaLimits) else str(value)


def _limits(fields: Mapping[str, Mapping[str, Any]]) -> dict[str, MediaLimits]:
    return {
        name: MediaLimits(**{**limits, "formats": tuple(limits.get("formats", ()))})
        for name, limits in fields.items()
    }


def _typed(value: object, kind: type[T]) -> T:
    if not isinstance(value, kind):
        raise TypeError(f"{value!r} is not {kind.__name__}")
    return value
