"""Formats micro-USD as exact US dollars."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from mediakit.spend.responses.rows import MONEY

if TYPE_CHECKING:
    import pandas as pd

USD = "_usd"
_PLACES = -6


def with_usd(frame: pd.DataFrame) -> pd.DataFrame:
    """Show amounts as US dollars: a `*_usd` column in place of each `*_micro_usd`.

    Args:
        frame: Any frame with amounts in integer micro-USD.

    Returns:
        A new frame. The dollars are exact `Decimal` values (object), None where an
        amount is unknown. `attrs` is unchanged, in micro-USD.
    """
    names = {
        name: f"{str(name).removesuffix(MONEY)}{USD}"
        for name in frame.columns
        if str(name).endswith(MONEY)
    }
    columns = {name: dollars(frame[name]) for name in names}
    shown = frame.assign(**columns).rename(columns=names)
    shown.attrs = dict(frame.attrs)
    return shown


def dollars(amounts: pd.Series) -> pd.Series:
    """Return exact US dollars of integer micro-USD, None for an unknown amount."""
    import pandas as pd

    codes, distinct = pd.factorize(amounts.astype("Int64"))
    known = [Decimal(int(amount)).scaleb(_PLACES) for amount in distinct]
    exact: list[Decimal | None] = [*known, None]  # the code of <NA> is -1
    values = [exact[code] for code in codes.tolist()]
    return pd.Series(values, index=amounts.index, dtype="object")
