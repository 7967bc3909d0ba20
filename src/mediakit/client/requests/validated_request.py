"""A validated request: checked and priced; nothing is sent yet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from mediakit.catalog import Function, MediaItem
from mediakit.client.idempotency import name_of_file, name_of_job
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


class UploadedFile(NamedTuple):
    """A local file that was uploaded.

    Args:
        url: Its URL.
        sha256: The hash of its content, in hex.
    """

    url: str
    sha256: str


@dataclass(frozen=True)
class ValidatedRequest:
    """A request that was checked and priced.

    Args:
        function: The function.
        body: The body; local files still as paths.
        infos: The properties of each local file, by its value in the body.
        seconds: Given durations of media, seconds by URL or path.
        price_only: Allow invalid fields that do not affect the price.
        remote: The properties of media behind URLs, by URL.
        read: The parsed body; None while it is invalid.
        extra: Additional properties, sent as given.
        parents: The jobs whose outputs are among its media.
        sent: The upload of each local file, by its value in the body.
        webhook_url: Where the service posts the job's end; None for nowhere.
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
    sent: Mapping[str, UploadedFile] = field(default_factory=dict)
    webhook_url: str | None = None

    @cached_property
    def canonical_body(self) -> dict[str, object]:
        """Return the canonical body, its media as URLs."""
        urls = {value: file.url for value, file in self.sent.items()}
        body = self.function.with_media(self.body, urls)
        return self.function.canonical_body({**body, **self.extra})

    @property
    def names(self) -> dict[str, str]:
        """Return the name of each job and uploaded file, by its URL."""
        jobs = {each.url: name_of_job(each.job_id) for each in self.parents}
        files = {file.url: name_of_file(file.sha256) for file in self.sent.values()}
        return jobs | files

    @property
    def paths(self) -> dict[str, Path]:
        """Return each local file, by its value in the body."""
        return {value: local_file(value) for value in self.infos}

    @cached_property
    def facts(self) -> InputFacts:
        """Return the known durations; given ones take precedence."""
        found = facts_of(self.function, self.body, {**self.infos, **self.remote})
        given = {placeholder(value): each for value, each in self.seconds.items()}
        return InputFacts(seconds={**found.seconds, **given})

    @cached_property
    def estimate(self) -> Estimate:
        """Return the price.

        Raises:
            InputError: A field that determines the price is missing or wrong.
        """
        checked, _ = body_with_placeholders(self.function, self.body)
        # A user's own rate may depend on a property that is not declared.
        whole = {**checked, **self.extra}
        return self.function.estimate(whole, self.facts, request=self.read)

    @property
    def lengths_wanted(self) -> list[MediaItem]:
        """Return the media behind URLs whose length an exact price needs."""
        return lengths_wanted(self.function, self.body, self.facts)

    @property
    def warnings(self) -> list[str]:
        """Return a line for each valid value that is likely a mistake."""
        warnings = self.function.warnings(self.body)
        return [f"{each.sentence}. It is sent as it is." for each in warnings]

    def measured(self, remote: Mapping[str, MediaInfo]) -> ValidatedRequest:
        """Return the request with the properties of its media behind URLs.

        Raises:
            InputError: The function does not accept them.
        """
        found = replace(self, remote={**self.remote, **remote})
        found.refuse([])
        return found

    def refuse(self, problems: list[Problem]) -> None:
        """Raise if the request has problems: these, or those of its media.

        Raises:
            InputError: It has some, and is not for the price only.
        """
        infos = {**self.infos, **self.remote}
        problems = [*problems, *preflight(self.function, self.body, infos)]
        if problems and not self.price_only:
            raise InputError.of(problems, spec=self.function.spec)
