"""Video upscale (spec 4.13)."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Literal, get_args

from pydantic import Field

from mediakit.estimates import EstimateKind, Line, per_second
from mediakit.media_limits import MediaLimits
from mediakit.rules import OnlyWhen, when
from mediakit.schema import (
    InputFacts,
    MediaRequest,
    Purpose,
    Title,
    VideoUrl,
)

Model = Literal[
    "proteus",
    "starlight-mini",
    "starlight-hq",
    "starlight-sharp",
    "starlight-fast-2",
    "starlight-precise-2.6",
]
OUTPUT_MICRO_USD_PER_S = dict.fromkeys(get_args(Model), 378_000) | {
    "proteus": 76_000,
    "starlight-fast-2": 189_000,
}
STARLIGHT_MAX_FPS = 30
PIXELS_4K = 3_840 * 2_160

Share = Annotated[float | None, Field(ge=0, le=1)]


class VideoUpscale(
    MediaRequest,
    kind="video-upscale",
    function="video-upscale",
    result="Upscaled",
    compared_with="video_url",
    spec="4.13",
    priced_by=("video_url", "model"),
    purpose=Purpose.ENLARGE,
    choose="Two or four times the width and height of a clip.",
    colours=("#88ccee", "#9adcff"),
):
    """Make a clip two or four times as large."""

    video_url: VideoUrl
    """The clip."""
    upscale_factor: Literal["x2", "x4"] = "x2"
    """How many times as wide and as high."""
    model: Model = "proteus"
    """starlight models accept up to 30 frames per second and make up to 4K."""
    compression: Share = None
    """How much compression to repair; proteus only."""
    noise: Share = None
    """How much noise to remove; proteus only."""
    halo: Share = None
    """How much to reduce halos; proteus only."""
    grain: Annotated[float | None, Field(ge=0, le=0.1)] = None
    """How much grain to add; proteus only."""
    recover_detail: Share = None
    """How much detail of the source to bring back; proteus only."""
    h264_output: Annotated[bool, Title("H.264 output")] = False
    """Encode H.264, which every browser plays, instead of H.265."""

    rules = (
        OnlyWhen(
            ("compression", "noise", "halo", "grain", "recover_detail"),
            when("model", "proteus"),
        ),
    )

    def media_limits(self) -> Mapping[str, MediaLimits]:
        """Limit sources of the starlight models (spec 4.13)."""
        if self.model == "proteus":
            return {}
        if self.model != "starlight-precise-2.6":
            return {"video_url": MediaLimits(max_fps=STARLIGHT_MAX_FPS)}
        # This model scales exactly, so the scaled source must fit into 4K.
        factor = int(self.upscale_factor.removeprefix("x"))
        most = PIXELS_4K // factor**2
        return {"video_url": MediaLimits(max_fps=STARLIGHT_MAX_FPS, max_pixels=most)}

    def lines(self, facts: InputFacts) -> Iterator[Line]:
        """Price the output's seconds, which are the source's, by model (spec 8)."""
        rate = OUTPUT_MICRO_USD_PER_S[self.model]
        label = f"video output, {self.model}"
        ms = facts.ms(self.video_url)
        if ms is None:
            yield per_second(label, 0, None, rate, EstimateKind.UPPER_BOUND)
        else:
            yield per_second(label, ms, ms, rate)

    def notes(self) -> Iterator[str]:
        """Yield notes on the facts that the price depends on."""
        yield "The output is as long as its source."
