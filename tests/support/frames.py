"""The types of a frame's columns, named as pandas 3 names them."""

from __future__ import annotations

import pandas as pd

IS_PANDAS_3 = int(pd.__version__.partition(".")[0]) >= 3
TEXT = "str" if IS_PANDAS_3 else "object"


def types(frame: pd.DataFrame) -> dict[str, str]:
    """Return the dtypes; before pandas 3, texts are objects and count as str."""
    kinds = {str(name): str(kind) for name, kind in frame.dtypes.items()}
    return {name: "str" if kind == TEXT else kind for name, kind in kinds.items()}
