"""A medium: its path or URL, an upload, an earlier result, or a painted mask."""

from __future__ import annotations

from typing import Any, ClassVar

from mediakit.schema import FieldKind, FieldSpec
from mediakit.widgets.controls.control import Control, Payload, Wire
from mediakit.widgets.uploads.accepted_files import accept_text

TAGS = {"image": "Image", "video": "Video", "audio": "Audio"}
SEVERAL = {"image": "pictures", "video": "clips", "audio": "sounds"}


class Media(Control):
    """A box for one medium."""

    name = "media"
    kinds: ClassVar[tuple[FieldKind, ...]] = ("media",)

    def shown(self, spec: FieldSpec, value: Any) -> Wire:
        return "" if value is None else str(value)

    def held(self, spec: FieldSpec, wire: Wire) -> object:
        return (wire or "").strip() or None

    def payload(self, spec: FieldSpec, path: str, prompts: str) -> Payload:
        medium = (spec.item or spec).media_kind or "image"
        tag = f"@{TAGS[medium]}"
        return {
            "path": path,
            "medium": medium,
            "several": SEVERAL[medium],
            "accept": accept_text(spec),
            "limits": spec.limits.words if spec.limits else "",
            "mask_of": spec.mask_of,
            "most": spec.max_length if spec.item else None,
            "tag": tag if f"{tag}1" in prompts else f"{TAGS[medium]} ",
            "cites": f"{tag}1" in prompts,
        }
