"""The entries that this process saw last: most of what is written is about them."""

from mediakit.history.entries import Entry

MOST_ENTRIES = 4_096


class Recent:
    """Remembers entries with the revision that they had.

    What is remembered may be old, since others write too: a change that is made from
    it is written only over that revision, and otherwise made again from what is there.

    It has no lock, which a fork could inherit held: each step is one operation on one
    dictionary.
    """

    def __init__(self) -> None:
        self._entries: dict[str, tuple[Entry, int]] = {}
        self._keys: dict[str, str] = {}

    def keep(self, entry: Entry, revision: int) -> None:
        """Remember an entry as it is at a revision."""
        if len(self._entries) >= MOST_ENTRIES:
            self.clear()
        self._entries[entry.key] = (entry, revision)
        if entry.job_id is not None:
            self._keys[entry.job_id] = entry.key

    def of_key(self, key: str) -> tuple[Entry, int] | None:
        """Return an entry and its revision; None when it is not remembered."""
        return self._entries.get(key)

    def key_of(self, job_id: str) -> str | None:
        """Return the key of a job; None when it is not remembered."""
        return self._keys.get(job_id)

    def clear(self) -> None:
        """Forget everything."""
        self._entries.clear()
        self._keys.clear()
