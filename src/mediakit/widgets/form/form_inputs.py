"""Serves a form's page with media: uploads, earlier results, frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from anyio import to_thread

from mediakit.history import Entry
from mediakit.media import is_url, kernel_folder
from mediakit.media_html import data_url
from mediakit.widgets.controls import media_specs
from mediakit.widgets.controls.media import SEVERAL
from mediakit.widgets.form.form_values import visible_fields
from mediakit.widgets.form.model import FormModel
from mediakit.widgets.inputs.frames import frame_of
from mediakit.widgets.inputs.result_search import Result
from mediakit.widgets.uploads.accepted_files import refusal
from mediakit.widgets.uploads.chunked_upload import ChunkReceiver
from mediakit.widgets.uploads.upload_folder import UploadFolder

NO_CLIP = "Choose the video first: the mask is painted on a frame of it."
UNREADABLE = "No frame of the video can be read, so there is nothing to paint on."

Message = Mapping[str, Any]


class FormInputs:
    """Answers the page's requests for uploads, earlier results and frames."""

    def __init__(self, model: FormModel) -> None:
        self._model = model
        self._widget = model.page.widget
        self._pages: dict[str, tuple[list[Result], Entry | None]] = {}
        self._receiver = ChunkReceiver(
            lambda message: self._widget.send({"upload": message}),
            UploadFolder(model.client.components.home or kernel_folder()),
            model.tasks.run,
            check=self._refusal,
            clock=model.clock,
            show=lambda names: self._widget.show_form({"arriving": names}),
            say=partial(model.say, until_edited=True),
        )

    def on_message(self, message: Message, buffers: Sequence[memoryview]) -> None:
        match message.get("do"):
            case "upload":
                self._receiver.on_message(message, buffers)
            case "results":
                self._model.tasks.run(partial(self._send_results, message))
            case "poster":
                self._model.tasks.run(partial(self._send_poster, message))
            case "frame":
                self._model.tasks.run(partial(self._send_frame, message))

    def close(self) -> None:
        self._receiver.close()

    def _refusal(self, offer: Message) -> str | None:
        spec = media_specs(visible_fields(self._model.state))[str(offer["path"])]
        name = str(offer["name"])
        most = spec.max_length if spec.item else None
        if most is not None and int(offer["count"]) >= most:
            files = "file" if most == 1 else "files"
            return f"{name} was not uploaded: this field takes {most} {files}."
        return refusal(spec, name, int(offer["size"]), str(offer["type"]))

    async def _send_results(self, message: Message) -> None:
        picker = str(message["picker"])
        medium = message["medium"]
        text = str(message["text"])
        before, last = self._pages.get(picker, ([], None))
        if not message["more"]:
            before, last = [], None
        result_page = await self._model.results.page(medium, text, last)
        self._pages[picker] = ([*before, *result_page.results], result_page.last)
        name, words = SEVERAL[medium], ""
        if not before and not result_page.results:
            words = f"No {name} match. Try fewer words."
            if not text.strip():
                words = f"No {name} yet. Completed results appear here."
        rows = [
            {"url": each.made.url, "title": each.title, "facts": each.facts}
            for each in result_page.results
        ]
        more = result_page.last is not None
        self._widget.answer(message, rows=rows, more=more, words=words)

    async def _send_poster(self, message: Message) -> None:
        shown, _ = self._pages[str(message["picker"])]
        poster = await self._model.results.poster(shown[int(message["at"])])
        self._widget.answer(message, poster=data_url(poster) if poster else "")

    async def _send_frame(self, message: Message) -> None:
        """Send a frame of the clip, and the existing mask, if any."""
        clip = self._model.state.values.get(str(message["mask_of"]))
        if not isinstance(clip, str) or not clip:
            self._widget.answer(message, problem=NO_CLIP)
            return
        remote = self._model.client.components.remote_media
        frame = await frame_of(clip, remote, message.get("at_s"))
        base = await to_thread.run_sync(_file_at, str(message["value"]))
        if frame is None:
            self._widget.answer(message, problem=UNREADABLE)
            return
        width, height = frame.size
        self._widget.answer(
            message,
            width=width,
            height=height,
            at_s=frame.at_s,
            duration_s=frame.duration_s,
            buffers=[frame.jpeg, base],
        )


def _file_at(value: str) -> bytes:
    """Return the content of an existing mask; empty if it is not a local file."""
    if not value.strip() or is_url(value):
        return b""
    try:
        return Path(value.strip()).expanduser().read_bytes()
    except (OSError, RuntimeError, ValueError):
        return b""
