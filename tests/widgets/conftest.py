"""Forms and walls closed after the test, a paid job, and the messages of widgets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import comm
import pytest
from comm.base_comm import BaseComm

from mediakit import Client, Job
from mediakit.widgets.form.controller import Form
from mediakit.widgets.gallery import Gallery
from mediakit.widgets.toolkit.cell_outputs import NotebookCell
from tests.support.samples.media_samples import make_png
from tests.support.samples.walls import Page
from tests.support.widgets import finish, until


@pytest.fixture
def make_form(client: Client) -> Iterator[Callable[..., Form]]:
    """Make forms that know the balance, and close them in the end."""
    forms: list[Form] = []

    def make(kind: str, cell: NotebookCell | None = None, **values: object) -> Form:
        form = Form(client, client.catalog.function(kind), values, cell=cell)
        forms.append(form)
        until(lambda: form.state.funds.balance is not None, form)
        return form

    yield make
    for form in forms:
        finish(form)


@pytest.fixture
def picture_job(client: Client, tmp_path: Path) -> Job:
    """Give a completed job of the sandbox whose charge is settled."""
    picture = make_png(tmp_path / "in.png", (96, 64))
    job = client.submit("image-upscale", image_url=str(picture), take="next")
    return job.wait().settle()


@pytest.fixture
def wall() -> Iterator[Callable[[Any], Page]]:
    """Show the walls of results, and close them in the end."""
    walls: list[Gallery] = []

    def show(results: Any) -> Page:
        walls.append(results.gallery())
        return Page(walls[-1])

    yield show
    for each in walls:
        each.close()


class CountedComm(BaseComm):
    """A fake comm that records its messages."""

    messages: ClassVar[list[str]] = []

    def publish_msg(self, msg_type: str, *args: Any, **kwargs: Any) -> None:
        """Count a message."""
        self.messages.append(msg_type)


@pytest.fixture
def messages(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the messages that widgets send to the browser from now on."""
    monkeypatch.setattr(comm, "create_comm", CountedComm)
    monkeypatch.setattr(CountedComm, "messages", [])
    return CountedComm.messages
