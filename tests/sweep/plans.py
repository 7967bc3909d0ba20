"""A plan for tests of runs: every combination of the axes, in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from hashlib import sha256
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from mediakit.client import AsyncClient
from mediakit.client.prepare import Prepared, prepare
from mediakit.errors import InputError
from mediakit.history import History


class GridPlan:
    """All combinations of axes; see `mediakit.sweep.runner.Planned`.

    Args:
        core: The client.
        function: The function.
        takes: How many draws of each combination.
        axes: What varies: lists of values. Any other value is fixed.
    """

    def __init__(
        self, core: AsyncClient, function: str, takes: int = 1, **axes: Any
    ) -> None:
        self.core = core
        self.function = core.catalog.function(function)
        self.axes = tuple(name for name, each in axes.items() if isinstance(each, list))
        self.takes = takes
        self._fixed = {n: v for n, v in axes.items() if n not in self.axes}
        values: Sequence[Sequence[Any]] = [axes[name] for name in self.axes]
        points = [dict(zip(self.axes, each, strict=True)) for each in product(*values)]
        self._cells = [
            (point, take) for take in range(1, takes + 1) for point in points
        ]
        prepared = [self._prepared(self.fields(cell)) for cell in range(len(self))]
        self._problems = [None if isinstance(p, Prepared) else p for p in prepared]
        self.valid = np.array([isinstance(p, Prepared) for p in prepared], np.bool_)
        highs = [p.estimate.high if isinstance(p, Prepared) else None for p in prepared]
        self.high_micro_usd = np.array(
            [-1 if high is None else high for high in highs], np.int64
        )
        self._given = axes

    def __len__(self) -> int:
        return len(self._cells)

    @cached_property
    def id(self) -> str:
        given = sorted((name, repr(value)) for name, value in self._given.items())
        whole = repr((self.core.service.identity, self.function.path, given))
        return sha256(whole.encode()).hexdigest()[:16]

    @cached_property
    def new(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        found = [self._is_new(cell) for cell in range(len(self))]
        return np.array(found, np.bool_) & self.valid

    def _is_new(self, cell: int) -> bool:
        key = self.key(cell)
        newest = History.newest
        owner = self.core._ledger.owner
        return key is None or not newest(
            self.core.store, **owner, draw_key=key, take=self.take(cell)
        )

    def _prepared(self, fields: Mapping[str, Any]) -> Prepared | str:
        try:
            return prepare(self.function, fields)
        except InputError as error:
            return str(error)

    def fields(self, cell: int) -> dict[str, Any]:
        return {**self._fixed, **self._cells[cell][0]}

    def take(self, cell: int) -> int:
        return self._cells[cell][1]

    def key(self, cell: int) -> str | None:
        if not self.valid[cell]:
            return None
        order = self.core._ordered_at_once(
            self.function.path, self.fields(cell), None, None, None
        )
        return None if order is None else order[0].draw_key

    def problem(self, cell: int) -> str | None:
        problem = self._problems[cell]
        return problem if isinstance(problem, str) else None

    def frame(self) -> pd.DataFrame:
        points = pd.DataFrame([point for point, _ in self._cells])
        return points.assign(take=[take for _, take in self._cells], valid=self.valid)
