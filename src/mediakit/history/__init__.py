"""The history: all jobs that a user submitted, and all settled charges.

It depends on the rates and the records. Other packages use `store`.
"""

from mediakit.history.admission.checks import BudgetLimit, BudgetUse, Spendable
from mediakit.history.comparing.draws import OwnedDraw
from mediakit.history.comparing.lineage import Parent
from mediakit.history.comparing.ratings import UNCHANGED, Judgement, Preference
from mediakit.history.entries.entries import Entry, EntryState, Submission, plain_values
from mediakit.history.entries.ordering import Order
from mediakit.history.store import History
from mediakit.history.uploads import Upload

__all__ = [
    "UNCHANGED",
    "BudgetLimit",
    "BudgetUse",
    "Entry",
    "EntryState",
    "History",
    "Judgement",
    "Order",
    "OwnedDraw",
    "Parent",
    "Preference",
    "Spendable",
    "Submission",
    "Upload",
    "plain_values",
]
