"""Columns of texts, in the dtype that this pandas has for them."""

from collections.abc import Iterable
from typing import Any

import pandas as pd

# Before pandas 3, "str" means numpy's texts, which turn None into the text "None".
TEXT = "str" if int(pd.__version__.partition(".")[0]) >= 3 else "object"


def text_array(values: Iterable[str | None]) -> Any:
    """Return texts as an array: str on pandas 3, object before it; None is missing."""
    return pd.array(list(values), dtype=TEXT)  # type: ignore[call-overload]
