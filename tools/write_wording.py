"""Write docs/wording.md: every sentence that forms, errors, jobs and the studio show.

A test fails when the page is not current, so that a change of words is read as a page.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.widgets.wording import page

PAGE = Path(__file__).parents[1] / "docs" / "wording.md"

if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
