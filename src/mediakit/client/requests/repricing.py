"""Prices a submission again, because rates may have changed."""

from __future__ import annotations

import json

from mediakit.catalog import Catalog, Function
from mediakit.client.idempotency import priced_at
from mediakit.client.requests.remote_media import RemoteMedia
from mediakit.client.requests.validated_request import ValidatedRequest
from mediakit.client.requests.validation import validate
from mediakit.errors import InputError
from mediakit.history import Submission


class Pricer:
    """Prices requests by the bytes that were sent.

    Args:
        catalog: Knows the functions and their rates.
        remote_media: Reads the lengths that prices depend on.
    """

    def __init__(self, catalog: Catalog, remote_media: RemoteMedia) -> None:
        self._catalog = catalog
        self._remote_media = remote_media

    async def repriced(self, submission: Submission) -> Submission:
        """Return a submission at its current price.

        If a length that the price depends on is no longer readable, the larger of the
        two prices counts. A submission that cannot be priced here keeps its price.
        """
        try:
            function = self._catalog.function(submission.function)
            request = await self._remote_media.measured(
                _request_of(function, submission)
            )
            again = priced_at(submission, request.estimate)
        except InputError:
            return submission
        is_less = again.reserved_micro_usd < submission.reserved_micro_usd
        return submission if request.lengths_wanted and is_less else again


def _request_of(function: Function, submission: Submission) -> ValidatedRequest:
    fields: dict[str, object] = {}
    extra: dict[str, object] = {}
    for name, value in json.loads(submission.body).items():
        if name == "webhook_url" and submission.webhook_url is not None:
            continue
        is_field = function.is_open or name in function.fields
        (fields if is_field else extra)[name] = value
    return validate(function, fields, extra=extra, price_only=True)
