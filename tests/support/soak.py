"""How much the long tests try: a part in `make test`, all of it in `make soak`."""

import os

IS_SOAK = bool(os.environ.get("MEDIAKIT_SOAK"))


def trials(usual: int, soak: int) -> int:
    """Return how often something is tried in this run."""
    return soak if IS_SOAK else usual
