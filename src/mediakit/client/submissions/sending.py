"""What this process is sending, so that it is not taken for an answer that was lost."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from threading import RLock
from types import TracebackType
from typing import Self

from mediakit.client.records.budgets import Budget
from mediakit.client.submissions.admission import Admission
from mediakit.history import Entry, Parent, Submission

Claim = Callable[[Submission], Awaitable[tuple[Entry, bool]]]


class Sending:
    """Counts the calls that are sending a key, of all clients, threads and loops.

    A fork's child begins with none: what its parent is sending, it is not.
    """

    def __init__(self) -> None:
        self.begin_anew()

    def begin_anew(self) -> None:
        """Forget all calls; the lock too, which a fork may have inherited held."""
        # A task that is thrown away ends its calls wherever Python clears up, which
        # may be in the middle of these methods: so the lock lets its thread in twice.
        self._lock = RLock()
        self._calls: Counter[tuple[str, str]] = Counter()

    def begin(self, place: str, key: str) -> None:
        """Count one more call.

        Args:
            place: The history, by its `place`: two may know of the same key.
            key: The idempotency key that it is about to claim, or to send.
        """
        with self._lock:
            self._calls[place, key] += 1

    def end(self, place: str, key: str) -> None:
        """Count one call less."""
        with self._lock:
            self._calls[place, key] -= 1
            if self._calls[place, key] <= 0:
                del self._calls[place, key]

    def has(self, place: str, key: str) -> bool:
        """Tell whether any call is sending a key."""
        with self._lock:
            return (place, key) in self._calls


SENDING = Sending()
if hasattr(os, "register_at_fork"):  # Windows never forks
    os.register_at_fork(after_in_child=SENDING.begin_anew)


class Purchase:
    """One call that buys: the keys that it claims count as being sent until it ends.

    Args:
        place: The history that it writes to, by its `place`.
        admission: Claims what can be paid.
        is_promised: What is not answered stays in the budget that it was sent under.
        parents: The jobs whose outputs are among the media of what it buys.
        budget: What it counts against; None for the client's own budget.
        origin: The form that asks, as the history names it; None for none.
    """

    def __init__(
        self,
        place: str,
        admission: Admission,
        *,
        is_promised: bool = False,
        parents: Sequence[Parent] = (),
        budget: Budget | None = None,
        origin: str | None = None,
    ) -> None:
        self._place = place
        self._admission = admission
        self._is_promised = is_promised
        self._parents = parents
        self._budget = budget
        self._origin = origin
        self._keys: set[str] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for key in self._keys:
            SENDING.end(self._place, key)

    def _begin(self, key: str) -> None:
        if key not in self._keys:
            self._keys.add(key)
            SENDING.begin(self._place, key)

    def leave(self, key: str) -> None:
        """Let a key that is sent by somebody else not count any more."""
        self._keys.remove(key)
        SENDING.end(self._place, key)

    async def claim(self, submission: Submission) -> tuple[Entry, bool]:
        """Write a submission down; returns its entry, and whether nobody did before."""
        # Others may read it as soon as it is written, before this task goes on.
        self._begin(submission.key)
        if self._is_promised:
            return await self._admission.claim_as_promised(submission)
        return await self._admission.claim(
            submission, self._parents, self._budget, self._origin
        )

    async def take_over(self, entry: Entry) -> Entry:
        """Make what somebody else claimed, and is not answered, this call's own."""
        self._begin(entry.key)
        if self._is_promised:
            return entry
        return await self._admission.take_over(entry, self._budget, self._origin)

    async def claim_or_take_over(self, submission: Submission) -> tuple[Entry, bool]:
        """Do either; returns the entry, and whether nobody claimed it before."""
        entry, is_new = await self.claim(submission)
        return (entry, True) if is_new else (await self.take_over(entry), False)
