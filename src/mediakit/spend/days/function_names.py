"""Maps the rows of a service report to mediakit's function names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mediakit.catalog import Catalog

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

AS_SENT = "_as_sent"


def with_column(frame: pd.DataFrame, name: str, values: Any) -> None:
    """Add a column; a service column with the same name is renamed."""
    if name in frame:
        frame.columns = [f"{n}{AS_SENT}" if n == name else n for n in frame.columns]
    frame[name] = values


def kinds_of(frame: pd.DataFrame, catalog: Catalog) -> pd.Categorical:
    """Return mediakit's name for each row's function; missing if no path is bound.

    Args:
        frame: Rows with any of model_id, model and function as categories: the path
            is the model_id, the function, the model, or both parts together.
        catalog: Which function is bound to which path.
    """
    import numpy as np
    import pandas as pd

    names = sorted({function.kind for function in catalog})
    codes = {f.path: names.index(f.kind) for f in catalog}
    found = np.full(len(frame), -1, dtype="int64")
    for column in ("model_id", "function", "model"):
        if column in frame and (found < 0).any():
            found = np.where(found < 0, _by_path(frame[column], codes), found)
    if "model" in frame and "function" in frame and (found < 0).any():
        found = np.where(found < 0, _by_parts(frame, codes), found)
    return pd.Categorical.from_codes(found, categories=pd.Index(names, dtype="str"))


def _by_path(column: pd.Series, codes: dict[str, int]) -> npt.NDArray[np.int64]:
    import numpy as np

    known = [codes.get(path, -1) for path in column.cat.categories]
    # A missing text has the code -1, which is the last place.
    return np.array([*known, -1], dtype="int64")[column.cat.codes.to_numpy()]


def _by_parts(frame: pd.DataFrame, codes: dict[str, int]) -> npt.NDArray[np.int64]:
    import numpy as np

    models, functions = frame["model"].cat, frame["function"].cat
    found = np.full(len(frame), -1, dtype="int64")
    for path, code in codes.items():
        model, _, function = path.rpartition("/")
        if model in models.categories and function in functions.categories:
            is_model = models.codes == models.categories.get_loc(model)
            is_function = functions.codes == functions.categories.get_loc(function)
            found[(is_model & is_function).to_numpy()] = code
    return found
