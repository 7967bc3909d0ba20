"""The history: all jobs that a user submitted, and all settled charges."""

from mediakit.history import importing, tuning
from mediakit.history.budget_limits import BudgetLimit, BudgetUse, Spendable
from mediakit.history.entry import Entry, EntryState, Submission, plain_values
from mediakit.history.rows import Order
from mediakit.history.store import History, Parent
from mediakit.history.tuning import (
    Judgement,
    OwnedDraw,
    Preference,
    Upload,
)

__all__ = [
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
    "importing",
    "plain_values",
    "tuning",
]
