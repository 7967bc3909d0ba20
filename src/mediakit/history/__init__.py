"""The history: all jobs that a user submitted, and all settled charges.

It depends on the rates and the records. Other packages use `store`.
"""

from mediakit.history.admission.spending_limits import BudgetLimit, BudgetUse, Spendable
from mediakit.history.entries.entry import Entry, EntryState, Submission, plain_values
from mediakit.history.entries.sort_order import Order
from mediakit.history.results.latest_attempts import OwnedDraw
from mediakit.history.results.lineage import Parent
from mediakit.history.results.ratings import UNCHANGED, Judgement, Preference
from mediakit.history.store import History
from mediakit.history.uploaded_files import Upload

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
