"""Write the lowest version of each dependency that pyproject.toml accepts.

The tools that only work on mediakit itself are left out.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

PROJECT = Path(__file__).parents[1] / "pyproject.toml"
TOOLS = {"dev", "docs"}
FLOOR = re.compile(r"([\w-]+)(?:\[[\w,]+\])?>=([\w.]+)")


def floors() -> list[str]:
    """Return the lowest version of each dependency, as lines of constraints."""
    project = tomllib.loads(PROJECT.read_text("utf-8"))["project"]
    extras = project["optional-dependencies"].items()
    groups = [lines for extra, lines in extras if extra not in TOOLS]
    texts = [text for lines in (project["dependencies"], *groups) for text in lines]
    found = filter(None, map(FLOOR.fullmatch, texts))
    return sorted({f"{match[1]}=={match[2]}" for match in found})


if __name__ == "__main__":
    sys.stdout.writelines(f"{line}\n" for line in floors())
