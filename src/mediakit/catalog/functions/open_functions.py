"""Functions whose fields the interface does not specify (spec 4.4, 4.9, 4.11).

They accept any field and send it unchanged. Their price is unknown until a rate is
configured.
"""

from typing import Annotated

from mediakit.schema import MediaRequest, Prompt, Purpose

OpenPrompt = Annotated[str | None, Prompt()]


class FinalizeDraftR1(
    MediaRequest,
    extra="allow",
    kind="r1-finalize",
    function="draft-to-video",
    result="Finalized",
    spec="4.4",
    closed=False,
    purpose=Purpose.REFERENCES,
    choose="Render a draft of R1 at 1080p, within seven days.",
    colours=("#99ddff", "#c0e9ff"),
):
    """Render a draft of R1 at 1080p, within seven days of it."""

    prompt: OpenPrompt = None
    """What the video shows."""


class ReferenceToVideoR5b(
    MediaRequest,
    extra="allow",
    kind="r5b",
    function="reference-to-video",
    spec="1",
    closed=False,
    purpose=Purpose.REFERENCES,
    choose="The fifth-generation variant of R5.",
    colours=("#ffaabb", "#ffc2ce"),
):
    """Make a video with the fifth-generation variant of R5."""

    prompt: OpenPrompt = None
    """What the video shows."""


class TextToImage(
    MediaRequest,
    extra="allow",
    kind="text-to-image",
    spec="4.11",
    media_type="image",
    closed=False,
    purpose=Purpose.PICTURE,
    choose="A picture from words, which can also be the start of a video.",
    colours=("#999933", "#a3a33a"),
):
    """Make a picture from a prompt."""

    prompt: OpenPrompt = None
    """What the picture shows, such as "a paper boat on a canal at dawn"."""


class ImageToImage(
    MediaRequest,
    extra="allow",
    kind="image-to-image",
    spec="4.11",
    media_type="image",
    closed=False,
    purpose=Purpose.PICTURE,
    choose="Change a picture that you have.",
    colours=("#ee8866", "#ff9f7d"),
):
    """Make a picture from another one."""

    prompt: OpenPrompt = None
    """What the picture shows, such as "a paper boat on a canal at dawn"."""
