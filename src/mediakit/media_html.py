"""Results in static HTML: one player and one tile for notebooks, walls and reports.

They must work without a kernel, in untrusted notebooks, on code-hosting pages and in
exports, each of which strips something. The source is on the media tag itself, never in
a `<source>` and never with a type: a sanitiser removes `<source>`, and a browser that
reads "video/quicktime" does not even try an H.264 mov that it could play.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable
from pathlib import Path

from markupsafe import Markup

from mediakit.safe_text import NO_HTML

BEST_RATING = 5
FILL = Markup(' style="display:block;width:100%;height:auto;border-radius:3px"')
KEPT = "color:#1e7bd6;color:var(--jp-brand-color1,var(--mk-green,#1e7bd6))"
SAVED_PAGE_CSS = Path(__file__).with_name("saved_page.css").read_text("utf-8")

# Browsers do not try "video/quicktime", so a mov is labelled as mp4.
_USUAL_TYPES = {"video": "video/mp4", "image": "image/png", "audio": "audio/mpeg"}
_PLAIN_TYPES = (
    "video/mp4",
    "video/webm",
    "image/png",
    "image/jpeg",
    "image/webp",
    "image/gif",
    "audio/mpeg",
    "audio/wav",
    "audio/mp4",
    "audio/ogg",
)


def data_url(data: bytes, content_type: str = "image/jpeg") -> str:
    """Return bytes as a `data:` URL."""
    return f"data:{content_type};base64,{b64encode(data).decode()}"


def result_data_url(data: bytes, medium: str, content_type: str = "") -> str:
    """Return a result as a `data:` URL of a type that browsers try to play."""
    plain_type = content_type if content_type in _PLAIN_TYPES else ""
    usual = _USUAL_TYPES.get(medium, "application/octet-stream")
    return data_url(data, plain_type or usual)


def link_html(src: str, content: str) -> Markup:
    """Return a link that opens in a new tab."""
    return Markup(
        '<a href="{}" target="_blank" rel="noopener noreferrer">{}</a>'
    ).format(src, content)


def medium_html(
    src: str,
    medium: str,
    name: str,
    *,
    poster: str = "",
    box: Markup = FILL,
    preload: str = "none",
) -> Markup:
    """Return the player or picture of a result; "" for an unknown medium."""
    is_embedded = src.startswith("data:")
    if medium == "image":
        image = src if is_embedded else poster or src
        picture = Markup('<img loading="lazy" src="{}" alt="{}"{}>')
        picture = picture.format(image, name, box)
        return picture if is_embedded else link_html(src, picture)
    if medium == "audio":
        return Markup(
            '<audio controls preload="{}" src="{}" aria-label="{}" '
            'style="width:100%"></audio>'
        ).format(preload, src, name)
    if medium != "video":
        return NO_HTML
    picture, still = NO_HTML, name
    if poster:
        picture = Markup(' poster="{}"').format(poster)
        still = Markup('<img src="{}" alt="{}"{}>').format(poster, name, box)
    # A sanitiser that drops the player keeps its content.
    return Markup(
        '<video controls preload="{}" playsinline src="{}"{} aria-label="{}"{}>{}'
        "</video>"
    ).format(preload, src, picture, name, box, still)


def tile_html(
    medium: str,
    rating: int | None,
    facts: Iterable[str],
    lines: Iterable[str],
    *,
    keep: bool = False,
) -> Markup:
    """Return a result with facts below; empty text takes no space."""
    stars = Markup('<span class="stars" role="img" aria-label="{}">{}</span>')
    label = f"rated {rating} of {BEST_RATING}"
    rated = stars.format(label, stars_text(rating)) if rating else ""
    kept = Markup('<b style="{}">kept</b>').format(KEPT) if keep else ""
    facts_part = Markup(" ").join(filter(None, (rated, kept, *facts)))
    row = Markup("<div>{}</div>").format
    return NO_HTML.join(map(row, filter(None, (medium, facts_part, *lines))))


def stars_text(rating: int | None) -> str:
    """Format a rating as filled and hollow stars."""
    full = rating or 0
    return "★" * full + "☆" * (BEST_RATING - full)
