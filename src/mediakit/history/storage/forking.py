"""Gives a forked child its own connections to the database.

SQLite's locks belong to a process. A child that inherits an open file would rely on
locks that only its parent holds, and could lose its writes when the parent closes the
file. So a fork waits for all transactions and closes the files; both processes open
them again on next use.
"""

import os
from threading import Condition
from typing import Protocol
from weakref import WeakSet

# Longer than any transaction waits for a lock.
LONGEST_WAIT_S = 40.0


class Forkable(Protocol):
    """An object with connections."""

    def before_fork(self) -> None:
        """Close the connections that a child must not inherit."""

    def after_fork_in_child(self) -> None:
        """Stop using inherited connections, without closing them."""


class Forks:
    """Prevents forks during transactions, for all databases of a process.

    No fork happens inside a `with` block of this.
    """

    def __init__(self) -> None:
        self._changed = Condition()
        self._transactions = 0
        self._is_forking = False
        self._watched: WeakSet[Forkable] = WeakSet()

    def watch(self, database: Forkable) -> None:
        """Notify a database of every fork from now on."""
        self._watched.add(database)

    def __enter__(self) -> None:
        """Prevent forks until the end of the block."""
        with self._changed:
            while self._is_forking:
                self._changed.wait()
            self._transactions += 1

    def __exit__(self, *_: object) -> None:
        with self._changed:
            self._transactions -= 1
            if self._is_forking:
                self._changed.notify_all()

    def before(self) -> None:
        """Wait for the transactions of other threads, and close the connections."""
        with self._changed:
            self._is_forking = True
            self._changed.wait_for(lambda: not self._transactions, LONGEST_WAIT_S)
        for database in list(self._watched):
            database.before_fork()

    def after_in_parent(self) -> None:
        """Allow transactions again."""
        with self._changed:
            self._is_forking = False
            self._changed.notify_all()

    def after_in_child(self) -> None:
        """Reset the count: the child does not have the threads that were counted."""
        self._changed = Condition()
        self._transactions = 0
        self._is_forking = False
        for database in list(self._watched):
            database.after_fork_in_child()


FORKS = Forks()
if hasattr(os, "register_at_fork"):  # Windows never forks
    os.register_at_fork(
        before=FORKS.before,
        after_in_parent=FORKS.after_in_parent,
        after_in_child=FORKS.after_in_child,
    )
