"""The validated request: the first of a request's three shapes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property
from pathlib import Path

from mediakit.catalog import Function, MediaItem
from mediakit.errors import InputError
from mediakit.history import Parent
from mediakit.media import (
    MediaInfo,
    body_with_placeholders,
    facts_of,
    lengths_wanted,
    local_file,
    placeholder,
    preflight,
)
from mediakit.rates import Estimate
from mediakit.rules import Problem
from mediakit.schema import InputFacts, MediaRequest


@dataclass(frozen=True)
class ValidatedRequest:
    """A request that was checked and priced.

    Args:
        function: The function.
        body: The body; local files still as paths.
        infos: What each local file is, by its value in the body.
        seconds: Durations of media that are known otherwise, seconds by URL or path.
        price_only: Let fields be wrong that do not bear on the price.
        remote: What media behind URLs are, by URL.
        read: The body as it was read; None while something is wrong with it.
        extra: Properties that are sent beside the body, as they were given.
        parents: The jobs whose outputs are among its media.
        urls: Where each local file was uploaded to, by its value in the body.
        webhook_url: Where the job's end is posted; None for nowhere.
    """

    function: Function
    body: dict[str, object]
    infos: Mapping[str, MediaInfo]
    seconds: Mapping[str, float | Decimal] = field(default_factory=dict)
    price_only: bool = False
    remote: Mapping[str, MediaInfo] = field(default_factory=dict)
    read: MediaRequest | None = None
    extra: Mapping[str, object] = field(default_factory=dict)
    parents: tuple[Parent, ...] = ()
    urls: Mapping[str, str] = field(default_factory=dict)
    webhook_url: str | None = None

    @cached_property
    def canonical_body(self) -> dict[str, object]:
        """Return the canonical body, its media as URLs."""
        body = self.function.with_media(self.body, self.urls)
        return self.function.canonical_body({**body, **self.extra})

    @property
    def paths(self) -> dict[str, Path]:
        """Return each local file, by its value in the body."""
        return {value: local_file(value) for value in self.infos}

    @cached_property
    def facts(self) -> InputFacts:
        """Return the durations that are known; those that were given come first."""
        found = facts_of(self.function, self.body, {**self.infos, **self.remote})
        given = {placeholder(value): each for value, each in self.seconds.items()}
        return InputFacts(seconds={**found.seconds, **given})

    @cached_property
    def estimate(self) -> Estimate:
        """Return the price.

        Raises:
            InputError: A field that the price is made from is missing or wrong.
        """
        checked, _ = body_with_placeholders(self.function, self.body)
        # A rate of the user's own may rest on a property that no declaration knows.
        whole = {**checked, **self.extra}
        return self.function.estimate(whole, self.facts, request=self.read)

    @property
    def lengths_wanted(self) -> list[MediaItem]:
        """Return the media behind URLs whose length the price needs to be firm."""
        return lengths_wanted(self.function, self.body, self.facts)

    @property
    def warnings(self) -> list[str]:
        """Say what is allowed and still likely a mistake, a line each."""
        warnings = self.function.warnings(self.body)
        return [f"{each.sentence}. It is sent as it is." for each in warnings]

    def measured(self, remote: Mapping[str, MediaInfo]) -> ValidatedRequest:
        """Return the request with what is known of media behind URLs.

        Raises:
            InputError: They are not what the function accepts.
        """
        found = replace(self, remote={**self.remote, **remote})
        found.refuse([])
        return found

    def refuse(self, problems: list[Problem]) -> None:
        """Raise what is wrong with the request: these problems, and its media.

        Raises:
            InputError: Something is; nothing is when only the price is asked for.
        """
        infos = {**self.infos, **self.remote}
        problems = [*problems, *preflight(self.function, self.body, infos)]
        if problems and not self.price_only:
            raise InputError.of(problems, spec=self.function.spec)
