"""Cells of walls, and a page that shows one, for tests."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import Any

from mediakit.widgets.gallery import Gallery, WallCell
from mediakit.widgets.gallery.page import Wall
from mediakit.widgets.job.player import NO_ENVIRONMENT
from tests.support.samples.media_samples import Colour, make_picture
from tests.support.widgets import until

ANIMALS = ("kite", "hot air balloon", "gull")
LIGHTS = ("dawn", "storm light")


def make_poster(colour: Colour = "teal", size: tuple[int, int] = (320, 180)) -> str:
    """Make a picture as a `data:` URI."""
    out = BytesIO()
    make_picture(size, colour).save(out, "JPEG")
    return f"data:image/jpeg;base64,{b64encode(out.getvalue()).decode()}"


def make_cell(index: int = 0, **fields: Any) -> WallCell:
    """Make a completed cell of the sweep of animals and lights."""
    animal = ANIMALS[index % len(ANIMALS)]
    light = LIGHTS[index // len(ANIMALS) % len(LIGHTS)]
    made: dict[str, Any] = {
        "job_id": f"media_{index}",
        "labels": {"animal": animal, "light": light},
        "prompt": f"a {animal} over dunes, {light}",
        "status": "completed",
        "media_type": "video",
        "url": f"https://a.test/{index}.mp4",
        "charge_micro_usd": 200_000,
    }
    return WallCell(index, **(made | fields))


def make_cells(count: int = 6, **fields: Any) -> list[WallCell]:
    """Make cells: three animals by two lights, repeated."""
    return [make_cell(index, **fields) for index in range(count)]


def wall_of(
    cells: Sequence[WallCell],
    rows: str | None = None,
    cols: str | None = None,
    *,
    title: str = "",
    environment: Mapping[str, str] = NO_ENVIRONMENT,
) -> Wall:
    """Arrange cells, as a gallery does."""
    return Wall.of(cells, (rows, cols), title, environment)


class Page:
    """A page that shows a wall, as the kernel knows it."""

    def __init__(self, gallery: Gallery) -> None:
        self.gallery = gallery
        self.widget = gallery.widget
        self.answers: list[dict[str, Any]] = []
        self.errors: list[str] = []
        self.widget.send = self._hear
        self.number = 0

    def _hear(self, content: dict[str, Any], buffers: object = None) -> None:
        if "answer" in content:
            self.answers.append({**content, "buffers": buffers})
        elif "error" in content:
            self.errors.append(content["error"])

    @property
    def shown(self) -> dict[str, Any]:
        """Return the page as it is shown."""
        return dict(self.widget.page)

    def cell(self, index: int) -> dict[str, Any]:
        """Return a cell of the page."""
        return next(dict(c) for c in self.shown["cells"] if c["index"] == index)

    def asks(self, do: str, **more: Any) -> int:
        """Send a request, as a click or a key does; return its number."""
        self.number += 1
        message = {"do": do, "sitting": "1", "number": self.number, **more}
        self.widget._handle_custom_msg(message, [])
        return self.number

    def views(self, **changes: Any) -> dict[str, Any]:
        """Request another page or other filters; return the shown page."""
        self.asks("view", changes=changes)
        return self.shown

    def judges(self, job: str, **changes: Any) -> int:
        """Judge a job as a key does."""
        return self.asks("judge", cells=self.cells_of(job), changes=changes)

    def acts(self, *jobs: str, offer: dict[str, Any]) -> int:
        """Click on an act for the results of jobs."""
        return self.asks("act", cells=self.cells_of(*jobs), offer=offer)

    def offers(self, *jobs: str) -> dict[str, dict[str, Any]]:
        """Open the menu of one or several jobs; return its acts by name."""
        answer = self.answer(self.asks("offers", cells=self.cells_of(*jobs)))
        return {offer["name"]: offer for offer in answer["offers"]}

    def cells_of(self, *jobs: str) -> list[int]:
        return [each.index for each in self.gallery.cells if each.job_id in jobs]

    def answer(self, number: int) -> dict[str, Any]:
        """Wait for the reply to a request."""

        def found() -> list[dict[str, Any]]:
            return [each for each in self.answers if each["answer"] == number]

        until(found)
        return found()[0]
