"""The sidecar of a saved result: a JSON file that records its origin."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Annotated, Any, Literal

from pydantic import Field

from mediakit.api_models import (
    LARGEST_CHARGE_MICRO_USD,
    Record,
    UTCInstant,
    without_lone_surrogates,
)
from mediakit.client.idempotency_keys import NOTHING_KNOWN, draw_key_of, key_of, named
from mediakit.client.job_state import JobState
from mediakit.client.service import Service
from mediakit.estimates import EstimateKind, metered_hold
from mediakit.history import Entry, Submission, Upload
from mediakit.history.entry import rebuilt_key
from mediakit.history.titles import NO_NAMES
from mediakit.media.bodies import urls_in
from mediakit.safe_text import shown_url
from mediakit.schema import canonical_json

VERSION: Literal[1] = 1
SUFFIX = ".json"
UNKNOWN = "unknown"

Count = Annotated[int, Field(ge=1, le=2**31 - 1, strict=True)]
SizeBytes = Annotated[int, Field(ge=0, le=2**63 - 1, strict=True)]
Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
Money = Annotated[int, Field(ge=0, le=LARGEST_CHARGE_MICRO_USD, strict=True)]


class Input(Record):
    """An uploaded file that a request names by its URL."""

    url: str
    sha256: Sha256
    size_bytes: SizeBytes
    content_type: str


class Sidecar(Record):
    """The content of a sidecar, without secrets; None for unknown values."""

    mediakit: Literal[1] = VERSION
    job_id: str
    service: str
    account: str | None = None
    function: str | None = None
    kind: str | None = None
    prompt: str | None = None
    body: dict[str, Any] | None = None
    take: Count | None = None
    attempt: Count | None = None
    key: str | None = None
    asked_key: str | None = None
    estimate_kind: EstimateKind | None = None
    estimate_low_micro_usd: Money | None = None
    estimate_high_micro_usd: Money | None = None
    project: str | None = None
    budget: str | None = None
    sweep: str | None = None
    inputs: tuple[Input, ...] = ()
    charge_micro_usd: Money | None = None
    submitted_at: UTCInstant | None = None
    finished_at: UTCInstant | None = None
    output_url: str | None = None
    content_type: str | None = None
    media_type: str | None = None
    size_bytes: SizeBytes | None = None
    sha256: Sha256 | None = None
    saved_at: UTCInstant | None = None
    delivered_size_bytes: SizeBytes | None = None
    """Where a recipe was added: the length as the service delivered the file."""
    delivered_sha256: Sha256 | None = None

    @property
    def text(self) -> bytes:
        """Return the content of the file."""
        return self.model_dump_json(indent=2).encode() + b"\n"

    @property
    def content(self) -> bytes | None:
        """Return the bytes that were sent; None if unknown or edited by hand."""
        if self.body is None or self.function is None:
            return None
        try:
            content = canonical_json(self.body)
        except ValueError:  # such as NaN, which no request can contain
            return None
        draw_key = draw_key_of(self.service, self.function, content)
        its_key = key_of(draw_key, self.take or 1, self.attempt or 1)
        return content if its_key == self.key else None

    def _asked_key(self, service: Service, names: Mapping[str, str]) -> str | None:
        """Return the key of the request by these names; None if it does not match.

        Anybody may have written the file, so the key is computed again.
        """
        if self.body is None or self.function is None or self.asked_key is None:
            return None
        try:
            content = canonical_json(named(self.body, names))
        except ValueError:
            return None
        if draw_key_of(self.service, self.function, content) != self.asked_key:
            return None
        return draw_key_of(service.identity, self.function, content)

    def submission(
        self,
        service: Service,
        kinds: Mapping[str, str],
        names: Mapping[str, str] = NO_NAMES,
    ) -> Submission:
        """Return the job's submission, as far as it is known.

        `names` has the names of the jobs and files in the body, by URL.
        """
        function, content = self.function or UNKNOWN, self.content
        take, attempt = self.take or 1, self.attempt or 1
        key = draw_key = asked_key = rebuilt_key(self.job_id)
        if content is not None:
            draw_key = asked_key = draw_key_of(service.identity, function, content)
            key = key_of(draw_key, take, attempt)
        asked_key = self._asked_key(service, names) or asked_key
        low, high = self.estimate_low_micro_usd, self.estimate_high_micro_usd
        is_metered = self.estimate_kind is EstimateKind.NOMINAL and high is not None
        hold = metered_hold(high or 0) if is_metered else high
        prompt = (self.body or {}).get("prompt")
        return Submission(
            key=key,
            draw_key=draw_key,
            asked_key=asked_key,
            service=service.identity,
            account=service.account,
            function=function,
            kind=kinds.get(function) or self.kind or UNKNOWN,
            body=NOTHING_KNOWN if content is None else content,
            prompt=prompt if isinstance(prompt, str) else None,
            webhook_url=None,
            take=take,
            attempt=attempt,
            estimate_kind=(self.estimate_kind or EstimateKind.UNKNOWN).value,
            estimate_low_micro_usd=low,
            estimate_high_micro_usd=high,
            reserved_micro_usd=hold or low or 0,
            project=self.project,
            budget=self.budget,
            sweep=self.sweep,
        )


def sidecar_of(
    state: JobState,
    entry: Entry | None,
    service: Service,
    inputs: Sequence[Upload],
    **of_file: object,
) -> Sidecar:
    """Return the sidecar of a result, with size and hash of its file."""
    output = state.record.output
    file = output.file if output else None
    request: dict[str, Any] = {"function": state.record.model_id}
    if entry is not None:
        body = json.loads(entry.body)
        body.pop("webhook_url", None)  # may hold a token, and people share sidecars
        urls = {url: shown_url(url) for url in urls_in(body)}
        fields = Sidecar.model_fields.keys() & vars(entry).keys()
        request = {name: getattr(entry, name) for name in fields}
        request["body"] = named(body, urls)
    return Sidecar.model_validate(
        {
            **request,
            "job_id": state.record.id,
            "service": service.identity,
            "account": service.account,
            "kind": state.kind,
            "prompt": state.prompt,
            "inputs": [asdict(i) for i in inputs if shown_url(i.url) == i.url],
            "charge_micro_usd": state.charge_micro_usd,
            "submitted_at": state.submitted_at,
            "finished_at": state.finished_at,
            "output_url": shown_url(file.url) if file else None,
            "content_type": file.content_type if file else None,
            "media_type": state.media_type,
            **of_file,
        }
    )


def parse_sidecar(content: bytes) -> Sidecar | None:
    """Parse a file; None if it is not a sidecar."""
    try:
        document = without_lone_surrogates(json.loads(content))
    except (ValueError, RecursionError):
        return None
    if not isinstance(document, dict) or document.get("mediakit") != VERSION:
        return None
    return Sidecar.model_validate(document)
