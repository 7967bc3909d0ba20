"""The media of a form: files and URLs, and their known properties."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from mediakit.catalog import Function
from mediakit.forks import cached_property
from mediakit.media import (
    body_with_placeholders,
    facts_of,
    is_url,
    lengths_wanted,
    preflight,
)
from mediakit.media_limits import MediaInfo
from mediakit.rules import Problem
from mediakit.schema import InputFacts
from mediakit.widgets.controls.media_inspection import Inspection, MediaKey


@dataclass(frozen=True)
class FormMedia:
    """The media in a form, and what is known about them."""

    function: Function
    body: Mapping[str, object]  # with local files as paths
    inspections: Mapping[MediaKey, Inspection]  # including those of earlier media

    @cached_property
    def checked_body(self) -> dict[str, object]:
        """Return the body with its paths replaced, for checks and prices."""
        return body_with_placeholders(self.function, self.body)[0]

    @property
    def facts(self) -> InputFacts:
        return facts_of(self.function, self.body, self._infos)

    @cached_property
    def _infos(self) -> Mapping[str, MediaInfo]:
        """Return the known properties; those as a clip outweigh those as a sound."""
        by_kind = sorted(self.inspections, key=lambda key: key[0] == "video")
        seen = ((value, self.inspections[kind, value]) for kind, value in by_kind)
        return {value: each.info for value, each in seen if each.info is not None}

    def _files(self) -> Iterator[tuple[str, MediaKey]]:
        for item in self.function.media(self.body):
            if item.value and not is_url(item.value):
                yield item.label, (item.kind, item.value)

    @cached_property
    def files(self) -> tuple[MediaKey, ...]:
        """Return the distinct local files that would be uploaded."""
        return tuple(dict.fromkeys(key for _, key in self._files()))

    @property
    def remote(self) -> tuple[MediaKey, ...]:
        """Return the media at URLs that were not inspected yet."""
        media = self.function.media(self.body)
        keys: list[MediaKey] = [(m.kind, m.value) for m in media if is_url(m.value)]
        return tuple(key for key in dict.fromkeys(keys) if key not in self.inspections)

    @property
    def unseen(self) -> tuple[MediaKey, ...]:
        """Return the local files that were not inspected yet."""
        return tuple(key for key in self.files if key not in self.inspections)

    @cached_property
    def unmeasured(self) -> tuple[MediaKey, ...]:
        """Return the URLs whose length would make the price firmer."""
        wanted = lengths_wanted(self.function, self.body, self.facts)
        keys: list[MediaKey] = [(item.kind, item.value) for item in wanted]
        return tuple(key for key in keys if key not in self.inspections)

    def problems(self) -> Iterator[Problem]:
        """Yield the problems of the local files, each with its place."""
        for label, key in self._files():
            inspection = self.inspections.get(key)
            if inspection is not None and inspection.problem is not None:
                yield replace(inspection.problem, field=label)
        files = {v: info for v, info in self._infos.items() if not is_url(v)}
        yield from preflight(self.function, self.body, files)

    def warnings(self) -> list[Problem]:
        """Return exceeded limits, including those of media at URLs."""
        # A file at a URL can change before it is used, so this is only a warning.
        return preflight(self.function, self.body, self._infos)
