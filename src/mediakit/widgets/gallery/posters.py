"""Makes posters small enough for a saved notebook."""

from __future__ import annotations

from base64 import b64decode
from binascii import Error as NoBase64
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from io import BytesIO

from mediakit.widgets.job.player import web_url
from mediakit.widgets.toolkit.styles import data_url

DATA = "data:image/"
WIDTHS_PX = (240, 192, 160, 128, 96, 72)
JPEG_QUALITY = 60


def is_embedded(poster: str | None) -> bool:
    """Tell whether a poster is part of what shows it, and no address."""
    return poster is not None and poster.startswith(DATA) and poster.isascii()


def shown_poster(poster: str | None) -> str:
    """Return a poster where it is a picture or a web address; empty for none."""
    if poster is None:
        return ""
    return poster if is_embedded(poster) else (web_url(poster) or "")


def small_posters(posters: Sequence[str | None], most_bytes: int) -> Mapping[str, str]:
    """Make posters so small that all of them take at most a number of bytes."""
    known = [shown for poster in posters if (shown := shown_poster(poster))]
    embedded = Counter(poster for poster in known if is_embedded(poster))
    small = {poster: poster for poster in known if not is_embedded(poster)}
    for width_px in WIDTHS_PX:
        made = {poster: _small(poster, width_px) for poster in embedded}
        if sum(len(made[poster]) * embedded[poster] for poster in made) <= most_bytes:
            return small | {poster: text for poster, text in made.items() if text}
    return small


@lru_cache(maxsize=512)
def _small(poster: str, width_px: int) -> str:
    from PIL import Image

    try:
        content = b64decode(poster.partition(";base64,")[2], validate=True)
        with Image.open(BytesIO(content)) as image:
            image.draft("RGB", (width_px, width_px))
            picture = image.convert("RGB")
    except (OSError, ValueError, NoBase64, Image.DecompressionBombError):
        return ""
    picture.thumbnail((width_px, width_px))
    out = BytesIO()
    picture.save(out, "JPEG", quality=JPEG_QUALITY, optimize=True)
    return data_url(out.getvalue())
