"""Finds rows of a report that are sums of other rows, whatever their names.

The interface promises one totals row in the CSV of a month without showing its name,
and says nothing about the other reports (spec 4.19).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd

from mediakit.spend.column_types import (
    CHARGE,
    as_days,
    numbered,
    texts_of,
    whole_number,
)

NAMES = ("model", "model_id", "function")
KEY = "api_key_id"
_TOTAL_WORDS = frozenset({"total", "totals", "grand total", "all", "all models"})
_ANY = frozenset({"", "*", "-", "any", *_TOTAL_WORDS})


def is_given(column: pd.Series[Any]) -> pd.Series[bool]:
    """Return which values are neither missing nor blank."""
    return column.notna() & (column != "")


def called_totals(
    rows: pd.DataFrame, *, is_blank_unnamed: bool = False
) -> pd.Series[bool]:
    """Return which rows are named totals, or leave the function blank.

    In a CSV, an unnamed function can only be blank.
    """
    is_total = pd.Series(data=False, index=rows.index)
    if CHARGE not in rows:
        return is_total
    names = [name for name in NAMES if name in rows]
    for name in {*names, *({KEY, "day"} & {*rows}), rows.columns[0]}:
        texts = texts_of(rows[name])
        words = {
            word
            for word in texts.unique()
            if isinstance(word, str) and word.strip().lower() in _TOTAL_WORDS
        }
        is_total |= texts.isin(words) if words else False
    is_unnamed = ~is_total
    for name in names:
        is_unnamed &= ~is_given(rows[name])
    if is_unnamed.any() and not is_blank_unnamed:
        is_unnamed &= (rows[names] == "").any(axis=1)
    return (is_total | is_unnamed) & rows[CHARGE].notna()


def csv_totals(rows: pd.DataFrame) -> tuple[int | None, pd.Series[bool], list[str]]:
    """Find the totals row of a CSV, and its subtotals.

    Returns:
        The position of the totals row, or None; which rows belong to no function; and
        sentences about doubtful rows.
    """
    is_sum = called_totals(rows, is_blank_unnamed=True)
    amounts = [whole_number(value) or 0 for value in rows.get(CHARGE, ())]
    is_path = _are_paths(rows)
    doubts: list[str] = []
    places = [place for place, is_total in enumerate(is_sum) if is_total]
    if not places and any(amounts):
        places = _sums_of_the_rest(amounts, is_path)
        if len(places) > 1:
            doubts.append(
                "Two rows of the month's CSV have the same charge, and one must be the "
                "total; the last one is treated as the total."
            )
        places = places[-1:]
        if places:
            is_sum.iloc[places[0]] = True
        else:
            doubts.append(
                "The month's CSV has no row that is the sum of the others, so it may "
                "be incomplete or count money twice."
            )
    if not places:
        return None, is_sum, doubts
    others = [place for place in range(len(amounts)) if not is_sum.iloc[place]]
    whole = sum(amounts[place] for place in others)
    total = next((place for place in places if amounts[place] == whole), places[0])
    is_sum.iloc[_subtotals(others, amounts, is_path, amounts[total])] = True
    return total, is_sum, doubts


def _sums_of_the_rest(amounts: Sequence[int], is_path: Sequence[bool]) -> list[int]:
    """Return rows that equal the sum of all others and are not named by a path."""
    whole, count = sum(amounts), len(amounts)
    if count < 2:
        return []
    places = [place for place, amount in enumerate(amounts) if 2 * amount == whole]
    if not places:
        # With subtotals in between, the other rows count twice or more. Only paths
        # distinguish subtotals from models whose charges happen to be equal.
        for total in (count - 1, 0):
            others = [place for place in range(count) if place != total]
            subtotals = _subtotals(others, amounts, is_path, amounts[total])
            rows = [place for place in others if place not in subtotals]
            if subtotals and all(is_path[place] for place in rows):
                places = [total]
                break
    return [place for place in places if not is_path[place]]


def _subtotals(
    places: Sequence[int],
    amounts: Sequence[int],
    is_path: Sequence[bool],
    total: int,
) -> list[int]:
    """Return the subtotals, below or above their rows, that add up to the total."""
    if sum(amounts[place] for place in places) == total:
        return []
    for order in (places, places[::-1]):
        subtotals: list[int] = []
        since: list[int] = []
        for place in order:
            if since and not is_path[place] and amounts[place] == sum(since):
                subtotals.append(place)
                since = []
            else:
                since.append(amounts[place])
        rest = sum(amounts[place] for place in places if place not in subtotals)
        if rest == total:
            return subtotals
    return []


def _are_paths(rows: pd.DataFrame) -> list[bool]:
    names = [texts_of(rows[name]) for name in NAMES if name in rows]
    is_path = pd.Series(data=False, index=rows.index)
    for texts in names:
        is_path |= texts.str.contains("/", regex=False).fillna(value=False).astype(bool)
    return is_path.tolist()


# -- rollups ---------------------------------------------------------------------------


def rollups(rows: pd.DataFrame) -> pd.Series[bool]:
    """Return which rows are sums of others, over keys, functions or days.

    Candidates leave their key, function or day open, name only a vendor or a model, or
    are the only row without a path. A candidate is a sum if the rows it covers add up
    to exactly its charge.
    """
    is_rollup = pd.Series(data=False, index=rows.index)
    if CHARGE not in rows or len(rows) < 2:
        return is_rollup
    days = texts_of(rows["day"]) if "day" in rows else pd.Series("", rows.index)
    open_day = as_days(days).isna()
    open_day &= not open_day.all()
    keys = texts_of(rows[KEY]).fillna("") if KEY in rows else None
    numbers, distinct = _path_texts(rows)
    tells = (_is_any, _is_start, _is_only_word)
    is_open = any(tell(distinct).any() for tell in tells) or open_day.any()
    if keys is not None and not is_open:
        is_open = _is_any(pd.Series(keys.unique(), dtype="object")).any()
    if not is_open:
        return is_rollup
    names = distinct.take(numbers).set_axis(rows.index)
    is_start = _map_distinct(names, _is_start)
    open_name = (
        _map_distinct(names, _is_any) | is_start | _map_distinct(names, _is_only_word)
    )
    open_key = open_name & False if keys is None else _map_distinct(keys, _is_any)
    suspects = (open_name | open_key | open_day) & rows[CHARGE].notna()
    if not suspects.any() or suspects.all():
        return is_rollup
    amounts = rows[CHARGE].map(whole_number)
    for index in rows.index[suspects]:
        covered = ~suspects & amounts.notna()
        if not open_day[index]:
            covered &= days == days[index]
        if not open_name[index]:
            covered &= names == names[index]
        elif is_start[index]:
            covered &= names.str.startswith(f"{names[index]}/")
        if keys is not None and not open_key[index]:
            covered &= keys == keys[index]
        if not open_name[index] and not open_key[index] and covered.sum() == 1:
            continue  # the same charge on another day, not a sum
        amount = amounts[index]
        is_rollup[index] = bool(amount) and amounts[covered].sum() == amount
    return is_rollup


def repeats(rows: pd.DataFrame, charges: pd.Series[int]) -> int:
    """Count the rows that repeat another row in every column."""
    # Few rows have the same charge, day and key; only they are read in full.
    is_charged = (charges != 0).fillna(value=False)
    is_alike = charges.duplicated(keep=False) & is_charged
    alike, names = rows[is_alike], [name for name in ("day", KEY) if name in rows]
    texts = alike[names].astype(str).assign(charge=charges[is_alike])
    alike = alike[texts.duplicated(keep=False)]
    return int(alike.astype(str).duplicated().sum())


def _path_texts(rows: pd.DataFrame) -> tuple[Any, pd.Series[str]]:
    """Return each row's function as a number, and all names; "" means no function."""
    names = [name for name in ("model", "function", "model_id") if name in rows]
    parts = {name: texts_of(rows[name]).fillna("") for name in names}
    numbers, distinct = numbered(pd.DataFrame(parts, rows.index))
    texts = pd.Series("", distinct.index, dtype="object")
    for name in names:
        part = distinct[name].astype("object")
        is_whole = part.str.contains("/", regex=False).astype(bool)
        both = (texts + "/" + part).str.strip("/")
        texts = both.where(~is_whole & (part != ""), part.where(is_whole, texts))
    return numbers, texts


def _map_distinct(
    texts: pd.Series[str], tell: Callable[[pd.Series[str]], pd.Series[bool]]
) -> pd.Series[bool]:
    """Apply a function to each distinct text once, and map the results to rows."""
    codes, distinct = pd.factorize(texts)
    verdicts = tell(pd.Series(distinct, dtype="object")).to_numpy("bool")
    return pd.Series(verdicts[codes], texts.index)


def _is_any(texts: pd.Series[str]) -> pd.Series[bool]:
    return texts.str.strip().str.lower().isin(_ANY).astype(bool)


def _is_start(names: pd.Series[str]) -> pd.Series[bool]:
    """Return which names, of a vendor or model, are the start of other paths."""
    parts = [name.split("/") for name in names.unique()]
    starts = {"/".join(each[:n]) for each in parts for n in range(1, len(each))}
    return names.isin(starts).astype(bool)


def _is_only_word(names: pd.Series[str]) -> pd.Series[bool]:
    """Return which rows have the only name that is not a path."""
    is_word = ~names.str.contains("/", regex=False).astype(bool) & (names != "")
    is_one = names[is_word].nunique() == 1 and not is_word.all()
    return is_word if is_one else is_word & False
