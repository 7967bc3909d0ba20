"""The history: all jobs that a user submitted, and all settled charges."""

from mediakit.history import forms, importing, lineage, ratings, uploads
from mediakit.history.entry import Entry, EntryState, Submission, plain_values
from mediakit.history.ratings import Judgement, Preference
from mediakit.history.reservations import BudgetLimit, BudgetUse, Spendable
from mediakit.history.rows import Order
from mediakit.history.store import History, Parent
from mediakit.history.uploads import Upload

__all__ = [
    "BudgetLimit",
    "BudgetUse",
    "Entry",
    "EntryState",
    "History",
    "Judgement",
    "Order",
    "Parent",
    "Preference",
    "Spendable",
    "Submission",
    "Upload",
    "forms",
    "importing",
    "lineage",
    "plain_values",
    "ratings",
    "uploads",
]
