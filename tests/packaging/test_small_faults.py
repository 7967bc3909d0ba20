"""The planted faults can be planted, and name tests that are there."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path

from tests.support.rows import assert_each

ROOT = Path(__file__).parents[2]


def test_every_planted_fault_names_one_place_and_a_test_that_is_there() -> None:
    faults = tomllib.loads((ROOT / "tools/small_faults.toml").read_text("utf-8"))

    def check(fault: dict[str, str]) -> None:
        source = (ROOT / "src/mediakit" / fault["file"]).read_text("utf-8")
        assert source.count(fault["right"]) == 1
        for test in fault["tests"].split():
            path, _, name = test.partition("::")
            tree = ast.parse((ROOT / path).read_text("utf-8"))
            names = {n.name for n in tree.body if isinstance(n, ast.FunctionDef)}
            assert name.partition("[")[0] in names

    assert_each(faults["fault"], check)
