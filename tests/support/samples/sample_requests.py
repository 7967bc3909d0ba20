"""A function that no service offers, with every shape of field."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from mediakit.catalog import Function
from mediakit.schema import (
    ImageUrl,
    MediaRequest,
    Part,
    Prompt,
    Unit,
    VideoUrl,
)


class Camera(Part):
    """How it is filmed."""

    lens: Literal["wide", "tele"] = "wide"
    """Which lens."""
    zoom: Annotated[float, Field(gt=0, lt=4)] | None = None
    """How near."""
    path: list[Annotated[int, Field(ge=0)]] | None = None
    """Where it goes."""


class Anything(Part):
    """An object of any properties."""

    model_config = ConfigDict(extra="allow")


class Extent(Part):
    """A size of one's own."""

    width: Annotated[int, Field(ge=1, le=99)]
    """How wide."""
    height: Annotated[int, Field(ge=1, le=99)]
    """How high."""


class Stage(Part):
    """Where it happens; it takes further properties."""

    model_config = ConfigDict(extra="allow")

    place: str
    """The place."""
    camera: Camera | None = None
    """Who looks at it."""
    lamps: list[Camera] | None = None
    """What lights it."""


class Still(Part):
    """A picture."""

    type: Literal["still"]
    """Which one."""
    name: str
    """What it is called."""
    size: Literal["s", "l"] = "s"
    """How large."""
    picture: ImageUrl
    """The picture."""


class Clip(Part):
    """A clip."""

    model_config = ConfigDict(extra="allow")

    type: Literal["clip"]
    """Which one."""
    name: str
    """What it is called."""
    size: Literal["m", "l"] = "m"
    """How large."""
    clip: VideoUrl
    """The clip."""
    loops: Annotated[int, Field(ge=1, le=9)]
    """How often."""


Source = Annotated[Still | Clip, Field(discriminator="type")]


Size = Literal["square", "portrait"] | Extent
Pictures = ImageUrl | list[ImageUrl]


class MadeUp(MediaRequest, kind="made-up", spec="0"):
    """Show every shape of a field."""

    prompt: Annotated[str, Prompt()]
    """What it shows."""
    stage: Stage
    """Where it happens."""
    camera: Camera | None = None
    """How it is filmed."""
    source: Source | None = None
    """What it begins with."""
    sources: Annotated[list[Source], Field(max_length=5)] | None = None
    """What else it takes."""
    cameras: Annotated[list[Camera], Field(min_length=2)]
    """At least two of them."""
    looks: list[Literal["noir", "pop"]] | None = None
    """Which looks it has."""
    size: Size = "square"
    """How large it is."""
    own_size: Size | None = None
    """How large it is, if it is known."""
    sizes: list[Size] | None = None
    """How large the others are."""
    pictures: Pictures
    """What it shows."""
    settings: Any = None
    """Anything."""
    anything: Anything | None = None
    """An object."""
    things: list[Any] | None = None
    """Things."""
    every_s: Annotated[float, Field(gt=0, le=2, multiple_of=0.25), Unit("s")] = 0.5
    """How often."""
    pairs: Annotated[int, Field(ge=1, le=15, multiple_of=2)] = 4
    """How many."""
    strength: Annotated[float, Field(gt=0, lt=1)] | None = None
    """How much."""
    parts: Annotated[int, Field(ge=1, le=9)]
    """How many, without a default."""
    parent: str | None
    """What it goes on with; it must be said when that is nothing."""
    operator: Camera | None
    """Who films it; it must be said when that is nobody."""
    grade: Literal["warm", "cold"] | None
    """How it is coloured; it must be said when it is not."""


MADE_UP = Function("made/up/made-up", MadeUp)
