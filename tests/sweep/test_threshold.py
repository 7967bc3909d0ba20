"""The documented test that fails a build when prompts are not followed."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

PAGE = Path(__file__).parents[2] / "docs/howto/judge.md"
NAME = "test_the_prompts_are_followed"


def documented() -> str:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    (block,) = [text for text in blocks if f"def {NAME}" in text]
    return str(block)


def run_with(stars: list[float | None]) -> None:
    """Run the lines of the page on results with these scores."""
    scores = pd.DataFrame({"follows_prompt": pd.Series(stars, dtype="float64")})
    results: Any = SimpleNamespace(score=lambda _: scores, scores=lambda: scores)
    plan = SimpleNamespace(run=lambda **_: SimpleNamespace(wait=lambda: results))
    exec(documented(), {"plan": plan, "judge": None})


def test_prompts_that_are_followed_pass() -> None:
    run_with([3.0, 4.0, 5.0])


@pytest.mark.parametrize("stars", [[5.0, 5.0, 2.0], [4.0, None], [None]])
def test_a_low_or_a_missing_score_fails_the_build(stars: list[float | None]) -> None:
    with pytest.raises(AssertionError, match="follows_prompt"):
        run_with(stars)
