"""The history against the bill: what agrees, what does not, and why.

Pure: frames in, a `Reconciliation` out. `AsyncSpend.reconcile` fetches them.
"""

from mediakit.spend.reconciling.comparing import Sources, compared, month_span
from mediakit.spend.reconciling.explaining import Span
from mediakit.spend.reconciling.reading import Reconciler
from mediakit.spend.reconciling.result import Reconciliation

__all__ = ["Reconciler", "Reconciliation", "Sources", "Span", "compared", "month_span"]
