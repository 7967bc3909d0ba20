"""How much the long tests try: a part in `make test`, all of it in `make soak`."""

import os

import pytest

IS_SOAK = bool(os.environ.get("MEDIAKIT_SOAK"))

# For fixtures of histories: `make test` tries Postgres where its SQL is another one.
BOTH_DATABASES = ["sqlite", pytest.param("postgres", marks=pytest.mark.soak)]


def trials(usual: int, soak: int) -> int:
    """Return how often something is tried in this run."""
    return soak if IS_SOAK else usual
