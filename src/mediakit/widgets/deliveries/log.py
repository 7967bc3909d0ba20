"""The delivery log that users get; it imports its view only when it is shown."""

from __future__ import annotations

from mediakit.client.account import blocking_deliveries
from mediakit.errors import InputError

MOST_SHOWN = 50


class Deliveries(blocking_deliveries.Deliveries):
    """The delivery log, which shows itself in a notebook: attempts on a time line."""

    def _ipython_display_(self) -> None:
        self.show()

    def show(
        self,
        delivery_id: str | None = None,
        /,
        *,
        status: str | None = None,
        source_id: str | None = None,
        many: int = 5,
    ) -> None:
        """Show a delivery, or the newest ones, with their attempts on a time line.

        Args:
            delivery_id: The one; the newest when omitted.
            status: Of the newest, only these, such as "failed".
            source_id: Of the newest, only those of this job.
            many: How many of the newest, 1 to 50; each takes a read of its own.

        Raises:
            InputError: An argument is not acceptable; nothing was sent.
            NotFoundError: The organization has no such delivery.
            ServiceError: The service does not answer.
        """
        if many not in range(1, MOST_SHOWN + 1):
            accepted = f"a whole number from 1 to {MOST_SHOWN}"
            raise InputError("many", got=many, accepted=accepted)
        from mediakit.widgets.deliveries.view import display_deliveries

        display_deliveries(
            self, delivery_id, status=status, source_id=source_id, many=many
        )
