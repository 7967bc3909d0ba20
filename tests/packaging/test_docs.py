"""The blocks of the documentation are executed as they stand."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from mediakit.catalog import Catalog, Function
from mediakit.schema import MediaRequest

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "adding_a_function.md"
SANDBOX_PAGE = DOCS / "sandbox.md"
LIMIT_S = 240
SHOWN = re.compile(r"  # => (.*)$")

CHECK = """
def _shown(value, expected, line):
    assert str(value) == expected, f"{line}: got {value}"
"""


def blocks(language: str, page: Path = PAGE) -> list[str]:
    """Return the blocks of a page in one language."""
    text = page.read_text("utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def executable(block: str) -> str:
    """Turn each line that shows a value into one that compares it."""
    lines = block.splitlines()
    for number, line in enumerate(lines):
        match = SHOWN.search(line)
        if match:
            expression = line[: match.start()]
            ast.parse(expression, mode="eval")
            lines[number] = f"_shown({expression}, {match[1]!r}, {line!r})"
    return "\n".join(lines)


def run(code: str, folder: Path) -> None:
    """Run code in a process of its own, in a folder that is its home, too."""
    script = folder / "page.py"
    script.write_text(CHECK + code, "utf-8")
    done = subprocess.run(
        [sys.executable, "-W", "error", str(script)],
        cwd=folder,
        env={**os.environ, "MEDIAKIT_HOME": str(folder / "home")},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )

    assert done.returncode == 0, done.stderr


def test_the_blocks_of_the_page_run_and_show_what_they_say(tmp_path: Path) -> None:
    code = "\n".join(map(executable, blocks("python")))
    assert code.count("_shown(") > 15
    [bindings] = [b for b in blocks("toml") if b.startswith("# mediakit.toml")]
    (tmp_path / "mediakit.toml").write_text(bindings, "utf-8")
    run(code, tmp_path)


def test_the_receiver_of_the_sandboxs_page_runs(tmp_path: Path) -> None:
    code = "\n".join(map(executable, blocks("python", SANDBOX_PAGE)))
    assert "client.handle_event" in code
    run(code, tmp_path)


@pytest.fixture(scope="module")
def weather() -> Function:
    """Return the made-up function of the page."""
    names: dict[str, Any] = {"__name__": __name__}
    code = compile(blocks("python")[0], str(PAGE), "exec", dont_inherit=True)
    exec(code, names)
    request_type = names["WeatherReport"]
    assert issubclass(request_type, MediaRequest)
    return Catalog.of(request_type).function("weather-report")


def test_the_table_of_the_page_holds_for_its_class(weather: Function) -> None:
    [text] = [b for b in blocks("toml") if b.startswith("# tests/spec/")]
    table = tomllib.loads(text)

    assert weather.kind == table["kind"]
    assert [n for n, s in weather.fields.items() if s.required] == table["required"]
    for body in table["accepted"]:
        assert weather.check(json.loads(body)) == []
    for field, body in table["refused"]:
        assert [p.field for p in weather.check(json.loads(body))] == [field]
    for row in table["price"]:
        assert weather.estimate(json.loads(row["body"])).high == row["micro_usd"]


def test_every_block_of_bindings_is_toml() -> None:
    assert [list(tomllib.loads(block)) for block in blocks("toml")][-1] == [
        "openapi",
        "functions",
        "rates",
    ]
