"""The notebook around this process: its shell, and nested event loops."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

VOILA = "VOILA_REQUEST_URL"
"""The environment variable that Voilà sets in kernels."""
FIRST_VERSION_OF_THE_FORK_ONLY = (3, 14)


def current_shell() -> Any:
    """Return the running IPython shell, if any, without importing IPython."""
    module = sys.modules.get("IPython.core.getipython")
    return module.get_ipython() if module is not None else None


def in_notebook() -> bool:
    """Return whether this process is a notebook kernel."""
    return getattr(current_shell(), "kernel", None) is not None


def in_voila(environment: Mapping[str, str]) -> bool:
    """Return whether this is a Voilà page, whose visitors have no folder here."""
    return VOILA in environment


def allow_nested_loops() -> None:
    """Allow `asyncio.run(...)` in cells until the kernel stops.

    mediakit never needs this: its blocking calls wait on their own thread. This
    function uses the maintained fork `nest-asyncio2` if it is installed, and always on
    Python 3.14 and later, where the original breaks every request. With `nest-asyncio`
    1.6.0, clicks made during a nested wait are lost and text boxes can stop responding.
    """
    forced = sys.version_info >= FIRST_VERSION_OF_THE_FORK_ONLY
    if forced or find_spec("nest_asyncio2") is not None:
        import nest_asyncio2

        nest_asyncio2.apply()
        return
    import nest_asyncio  # noqa: TID251 - the only place that may patch the loop

    nest_asyncio.apply()
