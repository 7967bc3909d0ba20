"""The columns that a plot needs, and the names that it shows."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Any, cast

from mediakit.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    import numpy.typing as npt
    import pandas as pd

DAY = "day"
CHARGE = "charge_micro_usd"
KIND = "kind"
UNNAMED = "not named"
OTHER = "other"
_NO_GLYPH = "\N{REPLACEMENT CHARACTER}"
DATETIMES = "datetimes"
WHOLE = "whole numbers"

_FUNCTION = "function"
_ALIASES = {"key": "api_key_id"}  # as `spend.daily(by=...)` calls them


def column_of(frame: object, by: str) -> str:
    """Return the column that `by` names; "key" is `api_key_id`."""
    if by in getattr(frame, "columns", ()):
        return by
    return _ALIASES.get(by, by)


def check(
    frame: object,
    needed: Mapping[str, str | None],
    what: str,
    *,
    field: str = "frame",
) -> None:
    """Reject a value that is not a frame with these columns.

    Args:
        frame: The value.
        needed: The columns, each with `DATETIMES`, `WHOLE` or None for any values.
        what: What the frame should be, in words.
        field: The argument's name.

    Raises:
        InputError: A column is missing, or its values have another type.
    """
    import pandas as pd

    got = frame
    if isinstance(frame, pd.DataFrame):
        if all(k in frame and _is_typed(frame[k], kind) for k, kind in needed.items()):
            return
        got = {str(name): str(dtype) for name, dtype in frame.dtypes.items()}
    words = [f"{name} as {kind}" if kind else name for name, kind in needed.items()]
    raise InputError(field, got=got, accepted=f"{what}: {_and(words)}", spec="4.19")


def _is_typed(values: pd.Series, kind: str | None) -> bool:
    from pandas.api.types import is_datetime64_any_dtype, is_integer_dtype

    if kind == DATETIMES:
        return is_datetime64_any_dtype(values)
    return kind is None or is_integer_dtype(values)


def _and(words: Sequence[str]) -> str:
    if len(words) == 1:
        return words[0]
    comma = "," if len(words) > 2 else ""
    return f"{', '.join(words[:-1])}{comma} and {words[-1]}"


def coded(
    frame: pd.DataFrame, by: str, missing: str = UNNAMED
) -> tuple[npt.NDArray[np.intp], list[str]]:
    """Return each row's place in a list of names, and that list.

    A function is shown under its short name if the frame has the column `kind`.
    Rows share a name only if both columns agree: functions of one kind, and kinds of
    one function, are separate.

    Args:
        frame: Any frame with the column.
        by: The column; missing values have a name, too.
        missing: The name of rows without a value.
    """
    import pandas as pd

    texts = frame[by].astype("object").where(frame[by].notna(), missing)
    if by == _FUNCTION and KIND in frame:
        return _by_function(texts.astype("str"), frame[KIND])
    codes, names = pd.factorize(texts.astype("str"))
    # A prompt can have many lines, but a name in a plot has one.
    return codes, [" ".join(name.split()) or missing for name in names.tolist()]


def _by_function(
    functions: pd.Series, kinds: pd.Series
) -> tuple[npt.NDArray[np.intp], list[str]]:
    import pandas as pd

    path_codes, paths = pd.factorize(functions)
    # Codes begin at 0: a function without a kind has one, too.
    kind_codes, shorts = pd.factorize(kinds.astype("object").where(kinds.notna(), ""))
    codes, found = pd.factorize(path_codes * max(len(shorts), 1) + kind_codes)
    places = [divmod(pair, max(len(shorts), 1)) for pair in found.tolist()]
    names = [(str(paths[path]), str(shorts[kind])) for path, kind in places]
    paths_of = Counter(kind for _, kind in names)
    kinds_of = Counter(path for path, _ in names)
    return codes, [
        _function_name(path, kind, paths_of[kind], kinds_of[path])
        for path, kind in names
    ]


def _function_name(path: str, kind: str, path_count: int, kind_count: int) -> str:
    if kind and path_count == 1:
        return kind
    return path if kind_count == 1 else f"{kind} {path}".strip()


def largest_first(names: Sequence[str], sums: Sequence[int]) -> list[int]:
    """Return the positions of names, largest sum first, then in their order."""
    return sorted(range(len(names)), key=lambda place: (-sums[place], names[place]))


def summed(
    frame: pd.DataFrame,
    by: str,
    columns: Sequence[str],
    *,
    most: int,
    missing: str = UNNAMED,
) -> pd.DataFrame:
    """Sum whole numbers exactly by name, the largest of the first column first.

    Args:
        frame: Rows without a missing value in `columns`.
        by: The column whose values become the names.
        columns: The int64 columns to sum, by their name in the result.
        most: The most names to keep; the rest are summed in the last row.
        missing: The name of rows without a value.

    Returns:
        One row per name: `by` (str), then the sums (int64).
    """
    import numpy as np
    import pandas as pd

    codes, names = coded(frame, by, missing)
    sums = {column: np.zeros(len(names), dtype="int64") for column in columns}
    for column, total in sums.items():
        np.add.at(total, codes, frame[column].to_numpy("int64"))
    order = largest_first(names, sums[columns[0]].tolist())
    own, rest = order[:most], order[most:]
    kept = [names[place] for place in own]
    typed = {column: total[own] for column, total in sums.items()}
    if rest:
        kept.append(others(len(rest)))
        typed = {
            column: np.append(total, sums[column][rest].sum())
            for column, total in typed.items()
        }
    return pd.DataFrame({by: pd.array(kept, dtype="str"), **typed})


def others(count: int) -> str:
    """Return the name for a group of names."""
    return f"{OTHER} ({count})"


def drawable(text: str) -> str:
    """Replace characters that the fonts lack, so that no warning is shown.

    Other scripts are drawn where matplotlib's `font.family` lists a font that has them.

    Args:
        text: From outside, in any script.
    """
    from matplotlib import rcParams

    settings = cast("dict[str, Any]", rcParams)
    families = settings["font.family"]
    lists = (settings.get(f"font.{family}", [family]) for family in families)
    names = chain.from_iterable(lists)
    known = _characters(tuple(names))
    return "".join(each if ord(each) in known else _NO_GLYPH for each in text)


@cache
def _characters(families: tuple[str, ...]) -> frozenset[int]:
    """Return the code points that any of the installed families can draw."""
    from matplotlib.font_manager import FontProperties, findfont, get_font

    found: set[int] = set()
    for family in families:
        with suppress(ValueError):  # not installed
            wanted = FontProperties(family=family)
            font = get_font(findfont(wanted, fallback_to_default=False))
            found |= font.get_charmap().keys()
    return frozenset(found)
