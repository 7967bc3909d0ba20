"""Why a request takes so long, for people."""

from __future__ import annotations

from collections.abc import Callable, Collection
from math import ceil

from mediakit.client.runtime.progress import Progress
from mediakit.media import size_text


class DelayMessages:
    """Says what a request waits for that has no answer yet.

    Args:
        progress: Knows how far the uploads are.
        asked_to_wait_s: Tells for how many more seconds the service asked to be left
            alone.
        blocked_text: Says that another program holds the history; an empty text if
            none does.
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
        """Say why a submit has no answer."""
        blocked = self._blocked_text()
        if blocked:
            return blocked
        asked_s = self._asked_to_wait_s()
        if asked_s > 0:
            return f"The service asks to wait; trying again in {ceil(asked_s)} s."
        return "The service has not taken the request yet; still trying."

    def files_text(self) -> str:
        """Say how far the files of a request are."""
        return (
            self.upload_text()
            or self._blocked_text()
            or "Still looking at the media of the request."
        )

    def upload_text(self, names: Collection[str] | None = None) -> str:
        """Say how far uploads are.

        Args:
            names: The names of the files that matter; None for all.

        Returns:
            A sentence; nothing while none of them is under way.
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
