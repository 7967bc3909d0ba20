"""Players for results, as HTML for saved notebooks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from io import BytesIO

from markupsafe import Markup

from mediakit.media_html import data_url, link_html, medium_html, result_data_url
from mediakit.safe_text import NO_HTML
from mediakit.web_urls import DEFAULT_PORTS, is_on_this_machine, parts_of, web_url

HUB_PREFIX = "JUPYTERHUB_SERVICE_PREFIX"
NO_ENVIRONMENT: Mapping[str, str] = {}

MAX_PX = 320
WARN = "color:#b26a00;color:var(--jp-warn-color1,#b26a00)"

WHAT = {"video": "video", "image": "picture", "audio": "sound"}

PLAYS = ("h264", "vp8", "vp9", "av1")
# Many browsers play H.265 without a picture and report no error, so the notice cannot
# depend on an error.
NOT_EVERYWHERE = {
    "hevc": "H.265 (HEVC): many browsers play its sound without a picture",
    "mpeg4": "MPEG-4 part 2: most browsers play its sound without a picture",
    "prores": "ProRes: most browsers cannot play it",
}


def browser_url(url: str, environment: Mapping[str, str] = NO_ENVIRONMENT) -> str:
    """Return the URL under which the user's browser reaches a kernel's URL."""
    prefix = environment.get(HUB_PREFIX)
    if not prefix or not is_on_this_machine(url):
        return url
    parts = parts_of(url)
    port = parts.port or DEFAULT_PORTS[parts.scheme]
    query = f"?{parts.query}" if parts.query else ""
    return f"{prefix.rstrip('/')}/proxy/{port}{parts.path or '/'}{query}"


def playback_notice(codec: str | None) -> str:
    """Return why a file may not play in the browser; "" if it does."""
    if codec is None or codec in PLAYS:
        return ""
    reason = NOT_EVERYWHERE.get(codec, f"{codec}: most browsers cannot play it")
    return f"The file is {reason}."


@dataclass(frozen=True)
class Still:
    """A small picture of the result, shown before or instead of the player."""

    jpeg: bytes = field(repr=False)
    alt: str  # a description of the picture

    @property
    def uri(self) -> str:
        return data_url(self.jpeg)

    @property
    def html(self) -> Markup:
        img = Markup('<img src="{}" alt="{}"{}>')
        return img.format(self.uri, self.alt, _box(self))


@dataclass(frozen=True)
class Embedded:
    """A result, or a copy of it, embedded in the notebook."""

    data: bytes = field(repr=False)  # the whole file
    medium: str  # "video", "image" or "audio"
    content_type: str = ""
    is_copy: bool = False  # the small copy of a result that does not play

    @property
    def uri(self) -> str:
        """Return the file as a `data:` URI with a type that browsers try to play."""
        return result_data_url(self.data, self.medium, self.content_type)

    @property
    def note(self) -> str:
        """Return how much it adds to the notebook."""
        file_mb, embedded_mb = len(self.data) / 1e6, 4 * len(self.data) / 3e6
        what = "small copy's" if self.is_copy else "file's"
        return (
            f"Embedded in this notebook: {_mb(embedded_mb)}, 1.33 times the {what} "
            f"{_mb(file_mb)}."
        )


def _mb(size_mb: float) -> str:
    return f"{size_mb:.1f} MB" if size_mb >= 1 else f"{size_mb * 1000:.0f} kB"


def player_html(
    url: str,
    media_type: str,
    content_type: str | None = None,
    codec: str | None = None,
    *,
    still: Still | None = None,
    environment: Mapping[str, str] = NO_ENVIRONMENT,
    embedded: Embedded | None = None,
) -> Markup:
    """Return the player or picture of a result, with a plain link below."""
    address = web_url(url)
    if address is None:
        return Markup(
            "<div>The result's address is not a web address, so it is not opened: "
            "<code>{}</code></div>"
        ).format(url[:200])
    src = browser_url(address, environment)
    medium = media_type
    if medium not in WHAT:
        medium = (content_type or "").split("/", 1)[0]
    what = WHAT.get(medium, "result")
    notice = playback_notice(codec) if medium == "video" else ""
    if notice and still is not None and embedded is None:
        # A player would play only the sound, and look broken.
        tag = link_html(src, still.html)
    else:
        tag = medium_html(
            src if embedded is None else embedded.uri,
            medium,
            still.alt if still else f"The {what} that was made",
            poster=still.uri if still else "",
            box=_box(still),
            preload="metadata",
        )
    rows: list[str] = [tag] if tag else []
    if notice:
        rows.append(Markup('<span style="{}">{}</span>').format(WARN, notice))
    if embedded is not None:
        rows.append(embedded.note)
    words = f"Open the original {what}" if notice else f"Open the {what} in a new tab"
    rows.append(link_html(src, words))
    row = Markup('<div style="margin:0 0 4px">{}</div>')
    box = Markup('<div style="max-width:{}px">{}</div>')
    return box.format(MAX_PX, NO_HTML.join(row.format(each) for each in rows))


def _box(still: Still | None) -> Markup:
    """Return attributes that reserve a medium's space before it loads."""
    # A style may be stripped, and then the attributes bound the size as well.
    style = "display:block;height:auto;border-radius:3px;max-width:100%"
    if still is None:
        return Markup(' style="{};max-height:{}px"').format(style, MAX_PX)
    width, height = fitted(_size_of(still.jpeg), MAX_PX)
    return Markup(' width="{}" height="{}" style="{}"').format(width, height, style)


def _size_of(jpeg: bytes) -> tuple[int, int]:
    from PIL import Image

    with Image.open(BytesIO(jpeg), formats=("JPEG",)) as image:
        return image.size


def fitted(shape: tuple[int, int], max_px: int) -> tuple[int, int]:
    """Return the size of a shape whose longer side has a given length in pixels."""
    longer = max(shape)
    width, height = (max(1, round(side * max_px / longer)) for side in shape)
    return width, height
