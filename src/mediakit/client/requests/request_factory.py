"""Makes validated requests from the fields that users write; uploads their files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from anyio import to_thread

from mediakit.catalog import Catalog
from mediakit.client.records.account_history import AccountHistory
from mediakit.client.requests.job_inputs import id_of, jobs_in
from mediakit.client.requests.remote_media import RemoteMedia
from mediakit.client.requests.upload_once import Uploads
from mediakit.client.requests.validated_request import ValidatedRequest
from mediakit.client.requests.validation import (
    Seconds,
    check_webhook_url,
    reads_files,
    validate,
)
from mediakit.history import History


class RequestFactory:
    """Validates requests, and uploads their files.

    Args:
        catalog: Knows the functions.
        account_history: Has the URLs of outputs that were inputs before.
        remote_media: Reads the lengths that prices depend on.
        uploads: Sends local files.
    """

    def __init__(
        self,
        catalog: Catalog,
        account_history: AccountHistory,
        remote_media: RemoteMedia,
        uploads: Uploads,
    ) -> None:
        self._catalog = catalog
        self._account_history = account_history
        self._remote_media = remote_media
        self.uploads = uploads

    async def validated(
        self,
        function: str,
        fields: Mapping[str, object],
        *,
        seconds: Seconds | None = None,
        extra: Mapping[str, object] | None = None,
        price_only: bool = False,
    ) -> ValidatedRequest:
        """Check and price a request; see `validate`.

        Raises:
            InputError: The request is invalid; the error has all problems.
        """
        found = self._catalog.function(function)
        work = partial(
            validate,
            found,
            fields,
            seconds=seconds,
            extra=extra,
            price_only=price_only,
            earlier_urls=await self._input_urls(fields),
        )
        # Without a file to read, this takes less time than starting a thread.
        reads = reads_files(found, fields)
        request = await to_thread.run_sync(work) if reads else work()
        return await self._remote_media.measured(request)

    async def uploaded(
        self,
        function: str,
        fields: Mapping[str, object],
        *,
        seconds: Seconds | None = None,
        webhook_url: str | None = None,
        extra: Mapping[str, object] | None = None,
    ) -> ValidatedRequest:
        """Check and price a request and upload its files, so that it can be submitted.

        Raises:
            InputError: A field or a file is invalid; nothing was sent.
            ServiceError: An upload failed.
        """
        check_webhook_url(webhook_url)
        request = await self.validated(function, fields, seconds=seconds, extra=extra)
        urls = await self.uploads.of(request)
        return replace(request, urls=urls, webhook_url=webhook_url)

    async def _input_urls(self, fields: Mapping[str, object]) -> dict[str, str]:
        """Return the URLs of job outputs that were inputs before, by job."""
        job_ids = [id_of(job) for job in jobs_in(fields)]
        if not job_ids:
            return {}
        return await self._account_history.ask(History.input_urls, job_ids)
