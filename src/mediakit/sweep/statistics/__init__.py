"""Which results are better, and what they cost: pure functions on frames of results.

They use numpy and pandas alone, and change none of the frames that they take.
"""

from mediakit.sweep.statistics.comparing import Comparison, compare
from mediakit.sweep.statistics.costs import cost_of_keeper, pareto
from mediakit.sweep.statistics.ranking import bradley_terry

__all__ = ["Comparison", "bradley_terry", "compare", "cost_of_keeper", "pareto"]
