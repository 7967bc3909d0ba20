"""Compare results and their costs: pure functions on frames of results.

They depend only on numpy and pandas, and do not change their arguments.
"""

from mediakit.sweep.statistics.agreeing import Agreement, agreement
from mediakit.sweep.statistics.cells import axes_of
from mediakit.sweep.statistics.comparing import Comparison, compare, compare_sweeps
from mediakit.sweep.statistics.costs import cost_of_keeper, pareto
from mediakit.sweep.statistics.ranking import bradley_terry, next_pair

__all__ = [
    "Agreement",
    "Comparison",
    "agreement",
    "axes_of",
    "bradley_terry",
    "compare",
    "compare_sweeps",
    "cost_of_keeper",
    "next_pair",
    "pareto",
]
