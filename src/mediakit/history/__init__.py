"""The history: all submissions of a user, and all settled charges."""

from mediakit.history import forms as forms
from mediakit.history import importing as importing
from mediakit.history import lineage as lineage
from mediakit.history import ratings as ratings
from mediakit.history import scores as scores
from mediakit.history import uploads as uploads
from mediakit.history.entry import Entry as Entry
from mediakit.history.entry import EntryState as EntryState
from mediakit.history.entry import Submission as Submission
from mediakit.history.entry import plain_values as plain_values
from mediakit.history.ratings import Judgement as Judgement
from mediakit.history.ratings import Preference as Preference
from mediakit.history.rows import Order as Order
from mediakit.history.scores import Score as Score
from mediakit.history.spending_limits import BudgetLimit as BudgetLimit
from mediakit.history.spending_limits import BudgetUse as BudgetUse
from mediakit.history.spending_limits import Spendable as Spendable
from mediakit.history.store import History as History
from mediakit.history.store import Parent as Parent
from mediakit.history.uploads import Upload as Upload
