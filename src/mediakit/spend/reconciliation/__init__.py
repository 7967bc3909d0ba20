"""The history against the bill: what agrees, what does not, and why.

Pure: frames in, a `Reconciliation` out. `AsyncSpend.reconcile` fetches them.
"""

from mediakit.spend.reconciliation.explanation import Span
from mediakit.spend.reconciliation.month_comparison import Sources, compared, month_span
from mediakit.spend.reconciliation.reconciler import Reconciler
from mediakit.spend.reconciliation.result import Reconciliation

__all__ = ["Reconciler", "Reconciliation", "Sources", "Span", "compared", "month_span"]
