"""The idempotency keys that are being sent, and those that one call claims."""

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


class InFlightKeys:
    """Counts the calls that are sending a key, of all clients, threads and loops.

    An entry whose key is in flight is not an unanswered one. A forked child starts
    with none, because only its parent is sending.
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget all calls; replace the lock, which may be inherited as held."""
        # The garbage collector may finalise a task, and so end its calls, in the
        # middle of these methods: so the lock is reentrant.
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
        """Count one call fewer."""
        with self._lock:
            self._calls[place, key] -= 1
            if self._calls[place, key] <= 0:
                del self._calls[place, key]

    def has(self, place: str, key: str) -> bool:
        """Return whether any call is sending a key."""
        with self._lock:
            return (place, key) in self._calls


IN_FLIGHT = InFlightKeys()
if hasattr(os, "register_at_fork"):  # Windows never forks
    os.register_at_fork(after_in_child=IN_FLIGHT.reset)


class ClaimedKeys:
    """The keys that one call claims, with their holds; in flight until the call ends.

    Args:
        place: The history that it writes to, by its `place`.
        admission: Claims submissions that balance and budget cover.
        is_promised: An unanswered submission stays in the budget of its first attempt.
        parents: The jobs whose outputs are among the media of the request.
        budget: What it counts against; None for the client's own budget.
        origin: The form that submits it, as the history names it; None for none.
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
            IN_FLIGHT.end(self._place, key)

    def _begin(self, key: str) -> None:
        if key not in self._keys:
            self._keys.add(key)
            IN_FLIGHT.begin(self._place, key)

    def release(self, key: str) -> None:
        """Stop counting a key that another call sends."""
        self._keys.remove(key)
        IN_FLIGHT.end(self._place, key)

    async def claim(self, submission: Submission) -> tuple[Entry, bool]:
        """Record a submission; returns its entry, and whether the entry is new."""
        # Others may read it as soon as it is committed, before this task continues.
        self._begin(submission.key)
        if self._is_promised:
            return await self._admission.claim_as_promised(submission)
        return await self._admission.claim(
            submission, self._parents, self._budget, self._origin
        )

    async def take_over(self, entry: Entry) -> Entry:
        """Take over an unanswered submission that another call claimed."""
        self._begin(entry.key)
        if self._is_promised:
            return entry
        return await self._admission.take_over(entry, self._budget, self._origin)

    async def claim_or_take_over(self, submission: Submission) -> tuple[Entry, bool]:
        """Claim or take over; returns the entry, and whether it is new."""
        entry, is_new = await self.claim(submission)
        return (entry, True) if is_new else (await self.take_over(entry), False)
