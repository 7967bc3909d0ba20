"""Forking: a child process opens its own connections and leaves its parent's alone.

What SQLite knows of its locks belongs to a process. A child that inherited an open
file would believe in locks that only its parent holds, and could lose what it writes
when the parent closes the file. So before a fork no transaction runs and the files
are closed; both sides open them again when they next need them.
"""

import os
from threading import Condition
from typing import Protocol
from weakref import WeakSet

# Longer than any transaction waits for a lock.
LONGEST_WAIT_S = 40.0


class Forkable(Protocol):
    """What holds connections."""

    def before_fork(self) -> None:
        """Close what a child must not inherit."""

    def after_fork_in_child(self) -> None:
        """Let go of what was inherited all the same, without closing it."""


class Forks:
    """Keeps forks and transactions apart, for all databases of a process.

    No fork happens within its blocks.
    """

    def __init__(self) -> None:
        self._changed = Condition()
        self._transactions = 0
        self._is_forking = False
        self._watched: WeakSet[Forkable] = WeakSet()

    def watch(self, database: Forkable) -> None:
        """Tell a database of every fork from now on."""
        self._watched.add(database)

    def __enter__(self) -> None:
        """Let no fork happen while the block lasts."""
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
        """Wait for the transactions of other threads, and close what is open."""
        with self._changed:
            self._is_forking = True
            self._changed.wait_for(lambda: not self._transactions, LONGEST_WAIT_S)
        for database in list(self._watched):
            database.before_fork()

    def after_in_parent(self) -> None:
        """Let transactions begin again."""
        with self._changed:
            self._is_forking = False
            self._changed.notify_all()

    def after_in_child(self) -> None:
        """Begin anew: the threads whose transactions were counted are not here."""
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
