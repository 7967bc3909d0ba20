"""Functions that together have fields of every shape, tried once by `make test`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from mediakit.catalog import Function

WITH_EVERY_SHAPE = (
    "made-up",
    "keyframes",
    "region-replace",
    "r1",
    "r3",
    "compose-video",
)


def by_shape(functions: Iterable[Function]) -> list[Any]:
    """Return parameters of a test; functions whose shapes others have are soak."""
    return [
        function
        if function.kind in WITH_EVERY_SHAPE
        else pytest.param(function, marks=pytest.mark.soak)
        for function in functions
    ]
