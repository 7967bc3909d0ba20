"""Write docs/wording.md: every sentence that forms, errors, jobs and the studio show.

A test fails if the page is out of date, so that every change of wording is reviewed.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.widgets.wording import page

PAGE = Path(__file__).parents[1] / "docs" / "wording.md"

if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
