"""Make the pictures of the README from the screenshots of the browser tests.

Run `make browser` first: it writes build/screenshots/.
"""

from __future__ import annotations

import sys
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).parents[1]
SCREENSHOTS = ROOT / "build" / "screenshots"
IMAGES = ROOT / "docs" / "images"
PICTURES = {
    "quickstart-done": "form",
    "studio-history-light-1280": "studio",
    "timeline-light-1280": "timeline",
}
MAX_HEIGHT_PX = 900


def main() -> None:
    """Write each picture with few colours, which is enough for text."""
    missing = [name for name in PICTURES if not (SCREENSHOTS / f"{name}.png").exists()]
    if missing:
        sys.exit(
            f"Not in {SCREENSHOTS}: {', '.join(missing)}. Run `make browser` first."
        )
    for seen, shown in PICTURES.items():
        with Image.open(SCREENSHOTS / f"{seen}.png") as picture:
            height = min(picture.height, MAX_HEIGHT_PX)
            cut = picture.crop((0, 0, picture.width, height))
            few = cut.convert("RGB").quantize(256, dither=Image.Dither.NONE)
            few.save(IMAGES / f"{shown}.png", optimize=True)


if __name__ == "__main__":
    main()
