"""Make the pictures of the documents from screenshots and the frames of the film.

Run `make pictures`, which makes build/screenshots/ first.
"""

from __future__ import annotations

import sys
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).parents[1]
SCREENSHOTS = ROOT / "build" / "screenshots"
IMAGES = ROOT / "docs" / "images"
PICTURES = {
    "studio-history-light-1280": "studio",
    "timeline-light-1280": "timeline",
}
FILM = "film-*.png"  # film-NUMBER-MILLISECONDS.png
MOVING = "quickstart.webp"
MAX_HEIGHT_PX = 900
QUALITY = 65


def main() -> None:
    """Write every picture."""
    film = sorted(SCREENSHOTS.glob(FILM))
    missing = [name for name in PICTURES if not (SCREENSHOTS / f"{name}.png").exists()]
    if missing or not film:
        sys.exit(
            f"Not in {SCREENSHOTS}: {', '.join(missing) or FILM}. Run `make pictures`."
        )
    for seen, shown in PICTURES.items():
        write_still(SCREENSHOTS / f"{seen}.png", IMAGES / f"{shown}.png")
    write_still(film[-1], IMAGES / "form.png")
    write_moving(film, IMAGES / MOVING)


def write_still(seen: Path, shown: Path) -> None:
    """Write a picture with few colours, which is enough for text."""
    with Image.open(seen) as picture:
        height = min(picture.height, MAX_HEIGHT_PX)
        cut = picture.crop((0, 0, picture.width, height))
        few = cut.convert("RGB").quantize(256, dither=Image.Dither.NONE)
        few.save(shown, optimize=True)


def write_moving(film: list[Path], shown: Path) -> None:
    """Write frames as one animated picture, each for the time in its name."""
    frames = [Image.open(path).convert("RGB") for path in film]
    frames[0].save(
        shown,
        save_all=True,
        append_images=frames[1:],
        duration=[int(path.stem.rpartition("-")[2]) for path in film],
        loop=0,
        quality=QUALITY,
        method=6,
        minimize_size=True,
        allow_mixed=True,
    )


if __name__ == "__main__":
    main()
