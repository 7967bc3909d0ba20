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
from tests.support import zygote
from tests.support.sketches import SKETCH

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "adding_a_function.md"
POSTGRES_PAGE = DOCS / "howto" / "postgres.md"
GUIDES = sorted(DOCS.glob("howto/*.md"))
PAGES = [
    DOCS.parent / "README.md",
    PAGE,
    DOCS / "sandbox.md",
    DOCS / "cheat_sheet.md",
    *GUIDES,
    *sorted(DOCS.glob("explanation/*.md")),
    DOCS / "reference" / "errors.md",
]
LIMIT_S = 600
FILE = re.compile(r"# (\w+\.py|mediakit\.toml)\n")
SHOWN = re.compile(r"  # => (.*)$", re.MULTILINE)
BLOCK = re.compile(
    r"^(?:<!-- not run: (?P<reason>.+?) -->\n)?```(?P<language>\w+)\n(?P<code>.*?)^```",
    re.DOTALL | re.MULTILINE,
)

CHECK = """
import warnings
warnings.filterwarnings("error")
warnings.filterwarnings("ignore", "This process", DeprecationWarning)

def _shown(value, expected, line):
    assert str(value) == expected, f"{line}: got {value}"
"""


def blocks(language: str, page: Path = PAGE) -> list[str]:
    """Return the blocks of a page in one language, but those said not to run."""
    return [
        block["code"]
        for block in BLOCK.finditer(page.read_text("utf-8"))
        if block["language"] == language and not block["reason"]
    ]


def executable(block: str) -> str:
    """Turn each line that shows a value into one that compares it."""
    lines = block.splitlines()
    for number, line in enumerate(lines):
        match = SHOWN.search(line)
        if match:
            expression = line[: match.start()].lstrip()
            ast.parse(expression, mode="eval")
            indent = line[: match.start() - len(expression)]
            shown = f"_shown(({expression}), {match[1]!r}, {line!r})"
            lines[number] = indent + shown
    return "\n".join(lines)


def files_of(page: Path) -> dict[str, str]:
    """Return the files that a page shows; blocks that name none are its script."""
    files = {"page.py": SKETCH + CHECK}
    for block in blocks("python", page) + blocks("toml", page):
        named = FILE.match(block)
        if named:
            files[named[1]] = f"{files.get(named[1], '')}{block}\n\n"
        elif block in blocks("python", page):
            files["page.py"] += f"{executable(block)}\n"
    return files


each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)


@pytest.mark.soak
@each_page
def test_the_blocks_of_a_page_run_and_show_what_they_say(
    page: Path,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings = {"MEDIAKIT_HOME": str(tmp_path / "home")}
    if page == POSTGRES_PAGE:
        settings["MEDIAKIT_HISTORY"] = request.getfixturevalue("postgres_url")
    files = files_of(page)
    for name, text in files.items():
        (tmp_path / name).write_text(text, "utf-8")
    if not any(name.startswith("test_") for name in files):
        monkeypatch.chdir(tmp_path)
        process = zygote.start(files["page.py"], environment=settings)
        said, errors = process.finish()
        assert process.returncode == 0, said + errors
        return
    done = subprocess.run(
        [
            *(sys.executable, "-W", "error", "-m", "pytest", "-q", "-p"),
            "no:cacheprovider",
        ],
        cwd=tmp_path,
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr


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
