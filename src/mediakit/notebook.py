"""Whether this process is a notebook's kernel, without importing IPython."""

import sys
from typing import Any


def current_shell() -> Any:
    """Return the shell of IPython that runs, if one does."""
    module = sys.modules.get("IPython.core.getipython")
    return module.get_ipython() if module is not None else None


def in_notebook() -> bool:
    """Tell whether this process is a notebook's kernel."""
    return getattr(current_shell(), "kernel", None) is not None
