"""Reference to video: what the fields of each family say (spec 4.4 to 4.10)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from types import MappingProxyType

from mediakit.sandbox.render.film.film import HIGH_CRF, STANDARD_CRF, write_film
from mediakit.sandbox.render.film.reels import (
    Given,
    Reel,
    Task,
    chosen_seconds,
    film_of,
    source_ratio,
)
from mediakit.sandbox.render.frames.planes import Floats
from mediakit.sandbox.render.inputs.clips import Clip, check_total, read_clip
from mediakit.sandbox.render.protocol import Order, Rendered
from mediakit.sandbox.render.scenes.r1 import task_of
from mediakit.sandbox.render.sizes import SHORT_SIDES_PX, Size, frame_size
from mediakit.sandbox.render.sound.references import read_sounds

ADAPTIVE = "adaptive"
# Both words leave the length to the model: R1 and R2 say `auto`, R4 says 0.
_AUTOMATIC = ("auto", 0)


@dataclass(frozen=True)
class Family:
    """Where the bodies of one family say what all families can be asked for.

    Attributes:
        fields: The family's fields; others are passed over, as the service does.
        resolution: The resolution that an omitted one means.
        seconds: The length that an omitted one means.
        chosen_s: The lengths among which the model chooses when it may.
        ratio: The shape that an omitted one means.
    """

    fields: frozenset[str]
    resolution: str
    seconds: int = 5
    chosen_s: range = range(4, 11)
    ratio: str = ADAPTIVE

    def name(self, *names: str) -> str:
        """Return which of these names the family uses."""
        return next((name for name in names if name in self.fields), names[0])

    @property
    def audible(self) -> bool:
        """Whether videos have sound; R5 hears sounds, so it makes them too."""
        return "audio_urls" in self.fields

    @property
    def edits(self) -> bool:
        """Whether clips can be edited and extended."""
        return "omni_reference_task_type" in self.fields


def _fields(text: str) -> frozenset[str]:
    return frozenset(text.split())


_R2_FIELDS = _fields(
    "prompt duration ratio generate_audio watermark bitrate_mode image_urls video_urls "
    "audio_urls resolution"
)

FAMILIES: Mapping[str, Family] = MappingProxyType(
    {
        "r1": Family(
            _R2_FIELDS | _fields("draft output_format omni_reference_task_type"),
            "720p",
        ),
        "r2": Family(_R2_FIELDS, "720p"),
        "r3": Family(
            _fields("prompt resolution ratio duration watermark reference_image_urls"),
            "1080P",
        ),
        "r4": Family(
            _fields("prompt aspect_ratio duration image_urls"),
            "720p",
            seconds=10,
            chosen_s=range(3, 11),
            ratio="16:9",
        ),
        "r5": Family(
            _fields(
                "prompt duration resolution aigc_watermark ratio image_urls video_urls "
                "audio_urls"
            ),
            "2K",
        ),
        "r6": Family(
            _fields("prompt duration aspect_ratio resolution reference_image_urls"),
            "480p",
            seconds=8,
            ratio="16:9",
        ),
    }
)


def render(order: Order, family: Family) -> Rendered:
    """Render the film that a family's body asks for."""
    known = {name: order.body[name] for name in family.fields & order.body.keys()}
    return write_film(film_of(_reel(replace(order, body=known), family)), order.output)


SCENES: Mapping[str, Callable[[Order], Rendered]] = MappingProxyType(
    {kind: partial(render, family=family) for kind, family in FAMILIES.items()}
)


def _reel(order: Order, family: Family) -> Reel:
    task: Task = task_of(order) if family.edits else "reference"
    clips = _clips(order)
    pictures = _given(order, family.name("image_urls", "reference_image_urls"))
    shown = pictures if task == "reference" else []
    return Reel(
        prompt=order.text("prompt"),
        seed=order.seed,
        size=_size(order, family, partial(source_ratio, shown, clips)),
        seconds=_seconds(order, family, clips, task),
        pictures=pictures,
        clips=clips,
        sound=_sound(order),
        audible=order.flag("generate_audio", default=family.audible),
        watermark=order.flag(family.name("watermark", "aigc_watermark")),
        task=task,
        container="mov" if order.text("output_format") == "mov" else "mp4",
        crf=HIGH_CRF if order.text("bitrate_mode") == "high" else STANDARD_CRF,
    )


def _given(order: Order, field: str) -> list[Given]:
    return [
        Given(order.file(url), f"{field}[{index}]")
        for index, url in enumerate(order.texts(field))
    ]


def _clips(order: Order) -> list[Clip]:
    limits = order.limits_of("video_urls")
    clips = [read_clip(*given, limits) for given in _given(order, "video_urls")]
    check_total(clips, "video_urls", limits)
    return clips


def _size(order: Order, family: Family, adapted: Callable[[], Fraction]) -> Size:
    short_side_px = order.choice("resolution", SHORT_SIDES_PX, family.resolution)
    if order.flag("draft"):
        short_side_px = SHORT_SIDES_PX["480p"]
    field = family.name("ratio", "aspect_ratio")
    if order.text(field, family.ratio) == ADAPTIVE:
        return frame_size(short_side_px, adapted())
    return frame_size(short_side_px, order.ratio(field, family.ratio))


def _seconds(order: Order, family: Family, clips: list[Clip], task: Task) -> float:
    if task == "edit":
        return clips[0].seconds
    if order.body.get("duration") in _AUTOMATIC:
        return chosen_seconds(order.text("prompt"), family.chosen_s)
    return order.number("duration", family.seconds)


def _sound(order: Order) -> Floats | None:
    given = _given(order, "audio_urls")
    return read_sounds(list(given), order.limits_of("audio_urls")) if given else None
