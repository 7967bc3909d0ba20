"""Every job this user ever submitted, and every settled charge, on disk."""

from mediakit.history.draws import OwnedDraw
from mediakit.history.entries import Entry, EntryState, Intent, plain_values
from mediakit.history.limits import Budget, BudgetUse, Spendable
from mediakit.history.lineage import Parent
from mediakit.history.ordering import Order
from mediakit.history.ratings import UNCHANGED, Judgement, Preference
from mediakit.history.store import History
from mediakit.history.uploads import Upload

__all__ = [
    "UNCHANGED",
    "Budget",
    "BudgetUse",
    "Entry",
    "EntryState",
    "History",
    "Intent",
    "Judgement",
    "Order",
    "OwnedDraw",
    "Parent",
    "Preference",
    "Spendable",
    "Upload",
    "plain_values",
]
