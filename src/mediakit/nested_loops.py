"""Running `asyncio.run(...)` unchanged in a notebook's cell, on request only."""

from __future__ import annotations

import sys
from importlib.util import find_spec

FIRST_VERSION_OF_THE_FORK_ONLY = (3, 14)


def allow_nested_loops() -> None:
    """Let code with `asyncio.run(...)` run in a cell, for this kernel's life.

    mediakit never needs it: its blocking calls wait on a thread of its own. It uses
    the maintained fork `nest-asyncio2` where that is installed, and always on Python
    3.14 and later, where the original breaks every request; under `nest-asyncio`
    1.6.0, clicks made during a nested wait are lost and text boxes can go dead.

    Raises:
        ModuleNotFoundError: The fork is needed and not installed.
    """
    forced = sys.version_info >= FIRST_VERSION_OF_THE_FORK_ONLY
    if forced or find_spec("nest_asyncio2") is not None:
        import nest_asyncio2

        nest_asyncio2.apply()
        return
    import nest_asyncio  # noqa: TID251 - the one place that may patch the loop

    nest_asyncio.apply()
