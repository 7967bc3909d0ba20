"""Rules between the fields of a request, as data.

Each rule gives the check of a body, a sentence for people, and the fields that a form
disables or marks as required. Rules see the body's values with the defaults filled
in; null counts as omitted, 0 and false as given, an empty list as not given.
"""

from mediakit.rules.conditions import (
    Found,
    Problem,
    Values,
    When,
    all_of,
    any_of,
    given,
    unless,
    when,
)
from mediakit.rules.fields import (
    Check,
    Cites,
    LimitedWhen,
    MostTogether,
    NeededWhen,
    NeedsAny,
    OnlyWhen,
    Rule,
)
from mediakit.rules.lists import (
    EndsBy,
    Gaps,
    MostInAll,
    NeedsGap,
    NoOverlap,
    OnePerGap,
    ShortWhenSeveral,
    SomeIn,
    Spans,
    UniqueIn,
    end_of,
)

__all__ = [
    "Check",
    "Cites",
    "EndsBy",
    "Found",
    "Gaps",
    "LimitedWhen",
    "MostInAll",
    "MostTogether",
    "NeededWhen",
    "NeedsAny",
    "NeedsGap",
    "NoOverlap",
    "OnePerGap",
    "OnlyWhen",
    "Problem",
    "Rule",
    "ShortWhenSeveral",
    "SomeIn",
    "Spans",
    "UniqueIn",
    "Values",
    "When",
    "all_of",
    "any_of",
    "end_of",
    "given",
    "unless",
    "when",
]
