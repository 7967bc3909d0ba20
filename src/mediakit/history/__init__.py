"""Every job this user ever submitted, and every settled charge, on disk."""

from mediakit.history.entries import Entry, EntryState, Intent
from mediakit.history.store import History

__all__ = ["Entry", "EntryState", "History", "Intent"]
