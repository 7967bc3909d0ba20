"""Image upscale (spec 4.12)."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Literal, get_args

from pydantic import Field

from mediakit.estimates import Line, PriceUnit, per_piece
from mediakit.media_limits import MediaLimits
from mediakit.rules import NeededWhen, OnlyWhen, unless, when
from mediakit.schema import (
    ImageUrl,
    InputFacts,
    MediaRequest,
    Prompt,
    Purpose,
    Title,
)

StandardModel = Literal[
    "standard-v2", "low-resolution-v2", "cgi", "high-fidelity-v2", "text-refine"
]
GuidedModel = Literal["redefine", "standard-max", "wonder"]
Wonder3Model = Literal["wonder-3", "wonder-3.5"]

STANDARD: tuple[str, ...] = get_args(StandardModel)
GUIDED: tuple[str, ...] = get_args(GuidedModel)
WONDER_3: tuple[str, ...] = get_args(Wonder3Model)
GENERATIVE = (*GUIDED, *WONDER_3)

IMAGE_MICRO_USD = (
    dict.fromkeys(STANDARD, 126_000)
    | dict.fromkeys(WONDER_3, 378_000)
    | dict.fromkeys(GUIDED, 756_000)
)

MAX_OUTPUT_PIXELS = 24_000_000

Share = Annotated[float | None, Field(ge=0, le=1)]


class ImageUpscale(
    MediaRequest,
    kind="image-upscale",
    function="image-upscale",
    result="Upscaled",
    compared_with="image_url",
    spec="4.12",
    media_type="image",
    priced_by=("model",),
    purpose=Purpose.ENLARGE,
    choose="Two to four times the width and height of a picture, up to 24 megapixels.",
    colours=("#ddcc77", "#eedd88"),
):
    """Make a picture two, three or four times as large, up to 24 megapixels."""

    image_url: ImageUrl
    """The picture."""
    upscale_factor: Literal["x2", "x3", "x4"] = "x2"
    """How many times as wide and as high."""
    model: StandardModel | GuidedModel | Wonder3Model = "standard-v2"
    """The first five are the standard family, the rest the generative one."""
    output_format: Literal["jpeg", "png"] | None = None
    """jpeg when omitted."""
    crop_to_fill: bool | None = None
    """Crop instead of letterboxing when the shape differs."""
    subject_detection: Literal["all", "foreground", "background"] | None = None
    """Which part of the picture to enhance."""
    face_enhancement: bool | None = None
    """Enhance faces; needs its strength and creativity."""
    face_enhancement_strength: Share = None
    """How strongly to enhance faces."""
    face_enhancement_creativity: Share = None
    """0 is realistic, 1 is creative."""
    sharpen: Share = None
    """How much to sharpen."""
    denoise: Share = None
    """How much noise to remove."""
    fix_compression: Share = None
    """How much to repair compression; standard models only."""
    strength: Annotated[float | None, Field(ge=0.01, le=1)] = None
    """How strong the effect is; standard models only."""
    prompt: Annotated[str | None, Field(min_length=1, max_length=1024), Prompt()] = None
    """What the picture shows; for redefine, standard-max and wonder."""
    autoprompt: Annotated[bool | None, Title("Automatic prompt")] = None
    """Let the model describe the picture; replaces `prompt`."""
    creativity: Annotated[int | None, Field(ge=1, le=9)] = None
    """How freely the model invents; generative models only."""
    texture: Annotated[int | None, Field(ge=1, le=5)] = None
    """How much texture to add; generative models only."""
    detail: bool | None = None
    """Add detail; generative models only, needs its strength."""
    detail_strength: Annotated[float | None, Field(ge=0, le=10)] = None
    """How much detail to add."""
    enhancement_strength: Literal["low", "medium", "high"] | None = None
    """How strongly wonder-3 and wonder-3.5 enhance."""

    rules = (
        OnlyWhen(("fix_compression", "strength"), when("model", *STANDARD)),
        OnlyWhen(("prompt", "autoprompt"), when("model", *GUIDED)),
        OnlyWhen(("prompt",), unless("autoprompt", True)),
        OnlyWhen(("creativity", "texture", "detail"), when("model", *GENERATIVE)),
        NeededWhen(("detail_strength",), when("detail", True)),
        NeededWhen(
            ("face_enhancement_strength", "face_enhancement_creativity"),
            when("face_enhancement", True),
        ),
        OnlyWhen(("enhancement_strength",), when("model", *WONDER_3)),
    )

    def media_limits(self) -> Mapping[str, MediaLimits]:
        """Limit the picture: its output has at most 24 megapixels (spec 4.12)."""
        factor = int(self.upscale_factor.removeprefix("x"))
        return {"image_url": MediaLimits(max_pixels=MAX_OUTPUT_PIXELS // factor**2)}

    def lines(self, facts: InputFacts) -> Iterator[Line]:
        """Price the picture by model (spec 8)."""
        yield per_piece(
            f"upscaled image, {self.model}",
            1,
            IMAGE_MICRO_USD[self.model],
            PriceUnit.IMAGE,
        )
