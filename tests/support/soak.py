"""The number of trials in long tests: few in `make test`, all in `make soak`."""

import os

import pytest

IS_SOAK = bool(os.environ.get("MEDIAKIT_SOAK"))

# For fixtures of histories: `make test` uses Postgres only where its SQL differs.
BOTH_DATABASES = ["sqlite", pytest.param("postgres", marks=pytest.mark.soak)]


def trials(usual: int, soak: int) -> int:
    """Return the number of trials in this run."""
    return soak if IS_SOAK else usual
