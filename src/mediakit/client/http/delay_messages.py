"""Messages that say why a request is slow."""

from __future__ import annotations

from collections.abc import Callable, Collection
from math import ceil

from mediakit.client.runtime.progress import Progress
from mediakit.media import size_text


class DelayMessages:
    """Says what a pending request waits for.

    Args:
        progress: The progress of the uploads.
        asked_to_wait_s: Returns the remaining seconds of the wait that the service
            requested.
        blocked_text: Returns a message while another program locks the history, else
            an empty text.
    """

    def __init__(
        self,
        progress: Progress,
        asked_to_wait_s: Callable[[], float],
        blocked_text: Callable[[], str],
    ) -> None:
        self._progress = progress
        self._asked_to_wait_s = asked_to_wait_s
        self._blocked_text = blocked_text

    def submit_text(self) -> str:
        """Say why a submission has no response."""
        blocked = self._blocked_text()
        if blocked:
            return blocked
        asked_s = self._asked_to_wait_s()
        if asked_s > 0:
            return f"The service asks to wait; trying again in {ceil(asked_s)} s."
        return "The service has not accepted the request yet; still trying."

    def files_text(self) -> str:
        """Return the progress of a request's files."""
        return (
            self.upload_text()
            or self._blocked_text()
            or "Still reading the media of the request."
        )

    def upload_text(self, names: Collection[str] | None = None) -> str:
        """Return the progress of uploads.

        Args:
            names: The names of the files that matter; None for all.

        Returns:
            A sentence; empty while none of them is in progress.
        """
        uploads = [
            each
            for each in self._progress.under_way
            if each.direction == "upload" and (names is None or each.name in names)
        ]
        if not uploads:
            return ""
        what = uploads[0].name if len(uploads) == 1 else f"{len(uploads)} files"
        done_bytes = sum(each.done_bytes for each in uploads)
        total_bytes = sum(each.total_bytes or 0 for each in uploads)
        return f"Uploading {what}: {size_text(done_bytes)} of {size_text(total_bytes)}."
