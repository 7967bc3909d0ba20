"""Several media, in an order that the user can change."""

from __future__ import annotations

from typing import Any

from mediakit.schema import FieldSpec
from mediakit.widgets.controls.control import Wire, list_of
from mediakit.widgets.controls.media import Media


class MediaList(Media):
    """A line for each medium."""

    name = "media_list"
    kinds = ("list",)

    def takes(self, spec: FieldSpec) -> bool:
        return spec.item is not None and bool(spec.item.media_kind)

    def shown(self, spec: FieldSpec, value: Any) -> Wire:
        if value is None:
            return [""] if spec.to_fill_in else []  # a row to begin with
        return [str(each) for each in list_of(spec, value)]

    def held(self, spec: FieldSpec, wire: Wire) -> object:
        return [text for each in wire or () if (text := each.strip())] or None
