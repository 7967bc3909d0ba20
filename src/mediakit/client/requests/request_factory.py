"""Makes validated requests from the fields that users write; uploads their files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from anyio import to_thread

from mediakit.catalog import Catalog
from mediakit.client.requests.remote_media import RemoteMedia
from mediakit.client.requests.upload_or_reuse import Uploads
from mediakit.client.requests.validated_request import ValidatedRequest
from mediakit.client.requests.validation import (
    Seconds,
    check_webhook_url,
    reads_files,
    validate,
)


class RequestFactory:
    """Validates requests, and uploads their files.

    Args:
        catalog: Knows the functions.
        remote_media: Reads the lengths that prices depend on.
        uploads: Sends local files.
    """

    def __init__(
        self,
        catalog: Catalog,
        remote_media: RemoteMedia,
        uploads: Uploads,
    ) -> None:
        self._catalog = catalog
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
        sent = await self.uploads.of(request)
        return replace(request, sent=sent, webhook_url=webhook_url)
