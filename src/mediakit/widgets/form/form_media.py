"""The media of a form: which are files or URLs, and what was found out about them."""

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
    """The media that a form would send.

    Args:
        function: The function that the form is for.
        body: What would be sent; local files still as paths.
        inspections: What was found out about media, those of earlier bodies too.
    """

    function: Function
    body: Mapping[str, object]
    inspections: Mapping[MediaKey, Inspection]

    @cached_property
    def checked_body(self) -> dict[str, object]:
        """Return the body with its paths replaced, as checks and prices need it."""
        return body_with_placeholders(self.function, self.body)[0]

    @property
    def facts(self) -> InputFacts:
        """Return the lengths that are known."""
        return facts_of(self.function, self.body, self._infos)

    @cached_property
    def _infos(self) -> Mapping[str, MediaInfo]:
        """What is known of media, by value; a clip says more than its sound."""
        by_kind = sorted(self.inspections, key=lambda key: key[0] == "video")
        seen = ((value, self.inspections[kind, value]) for kind, value in by_kind)
        return {value: each.info for value, each in seen if each.info is not None}

    def _files(self) -> Iterator[tuple[str, MediaKey]]:
        for item in self.function.media(self.body):
            if item.value and not is_url(item.value):
                yield item.label, (item.kind, item.value)

    @cached_property
    def files(self) -> tuple[MediaKey, ...]:
        """Return the local files that would be uploaded, each once."""
        return tuple(dict.fromkeys(key for _, key in self._files()))

    @property
    def remote(self) -> tuple[MediaKey, ...]:
        """Return the media behind URLs of which nothing was found out yet."""
        media = self.function.media(self.body)
        keys: list[MediaKey] = [(m.kind, m.value) for m in media if is_url(m.value)]
        return tuple(key for key in dict.fromkeys(keys) if key not in self.inspections)

    @property
    def unseen(self) -> tuple[MediaKey, ...]:
        """Return the local files that nobody has looked at yet."""
        return tuple(key for key in self.files if key not in self.inspections)

    @cached_property
    def unmeasured(self) -> tuple[MediaKey, ...]:
        """Return the clips and sounds behind URLs whose length would firm the price."""
        wanted = lengths_wanted(self.function, self.body, self.facts)
        keys: list[MediaKey] = [(item.kind, item.value) for item in wanted]
        return tuple(key for key in keys if key not in self.inspections)

    def problems(self) -> Iterator[Problem]:
        """Give what is wrong with the local files, each with its place."""
        for label, key in self._files():
            inspection = self.inspections.get(key)
            if inspection is not None and inspection.problem is not None:
                yield replace(inspection.problem, field=label)
        files = {v: info for v, info in self._infos.items() if not is_url(v)}
        yield from preflight(self.function, self.body, files)

    def warnings(self) -> list[Problem]:
        """Return what is beyond a limit, also of what is behind URLs.

        The latter is worth a warning and no more: a later read may find
        something else.
        """
        return preflight(self.function, self.body, self._infos)
