"""The code blocks of the documentation are executed unchanged."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

import mediakit as mk
from mediakit.catalog import Bindings, Catalog, Function
from mediakit.estimates import PriceUnit
from mediakit.schema import MediaRequest
from tests.spec import accepted
from tests.support import zygote
from tests.support.rows import assert_each
from tests.support.servers.serving import ROOT
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
    """Return the blocks of a page in one language, except those marked not to run."""
    return [
        block["code"]
        for block in BLOCK.finditer(page.read_text("utf-8"))
        if block["language"] == language and not block["reason"]
    ]


def executable(block: str) -> str:
    """Turn each line that shows a value into an assertion."""
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
def test_the_blocks_of_a_page_run_and_show_the_documented_values(
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


# -- the README ------------------------------------------------------------------------


README = ROOT / "README.md"
PROMISES = ROOT / "docs" / "explanation" / "promises.md"
TEXT = README.read_text("utf-8")
PROSE = re.sub(r"^```.*?^```$", "", TEXT, flags=re.DOTALL | re.MULTILINE)
LINK = re.compile(r"!?\[([^\]]*)\]\(([^)\s]+)\)")
CODE = re.compile(r"`([^`\n]+)`")
CALL = re.compile(r"`(client|mk)\.([\w.]+)")
UNITS = {
    "the second": PriceUnit.MILLISECOND,
    "the request": PriceUnit.REQUEST,
    "the image": PriceUnit.IMAGE,
    "some inputs": PriceUnit.IMAGE,
    "reported tokens": PriceUnit.TOKEN,
}
NO_RATE = "what you configure"


def table(heading: str) -> list[list[str]]:
    """Return the cells of each row of the table whose first heading this is."""
    _, found, rest = TEXT.partition(f"\n| {heading} |")
    assert found, f"there is no table of {heading}"
    lines = rest.partition("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in lines]


def linked(text: str, folder: Path = ROOT) -> Iterator[tuple[str, Path, str]]:
    """Yield the label, file and anchor of each link to a file of the repository."""
    for label, target in LINK.findall(text):
        parts = urlsplit(target)
        if not parts.scheme:
            yield label, folder / parts.path, parts.fragment


def test_every_link_leads_to_a_file() -> None:
    def check(link: tuple[str, Path, str]) -> None:
        _, path, anchor = link
        assert path.exists()
        assert not anchor, "an anchor that no check resolves"

    assert_each(list(linked(TEXT)), check)


def test_every_call_in_it_exists(tmp_path: Path) -> None:
    refuse = httpx.MockTransport(lambda _: httpx.Response(500))
    client = mk.Client(
        "https://media.example.com", "a-key", transport=refuse, home=tmp_path
    )

    def check(call: tuple[str, str]) -> None:
        owner, path = call
        found: object = {"client": client, "mk": mk}[owner]
        for name in path.split("."):
            found = getattr(found, name)

    assert_each(CALL.findall(PROSE), check)
    client.close()


def test_its_bindings_are_accepted(tmp_path: Path) -> None:
    [text] = blocks("toml", README)
    (tmp_path / "mediakit.toml").write_text(text, "utf-8")

    catalog = Bindings.read(tmp_path).catalog()
    assert [each.kind for each in catalog] == ["text-to-video"]


def test_every_test_that_the_promises_name_is_in_the_file_that_they_link() -> None:
    text = PROMISES.read_text("utf-8")
    named = [
        (label.strip("`"), path)
        for label, path, _ in linked(text, PROMISES.parent)
        if label.startswith("`test_")
    ]
    assert named

    def check(row: tuple[str, Path]) -> None:
        name, path = row
        assert f"def {name}(" in path.read_text("utf-8")

    assert_each(named, check)
    assert {name for name, _ in named} == {
        code for code in CODE.findall(text) if code.startswith("test_")
    }


def test_it_lists_every_notebook() -> None:
    listed = [next(linked(row[0]))[1] for row in table("notebook")]

    assert listed == sorted(ROOT.glob("notebooks/*.ipynb"))


def test_it_lists_every_function_and_what_its_charge_is_counted_by() -> None:
    catalog = mk.Catalog.default()
    rows = [(CODE.findall(kinds), by) for kinds, _, by in table("function")]

    def check(row: tuple[list[str], str]) -> None:
        kinds, charged_by = row
        counted = {
            line.per
            for kind in kinds
            for case in accepted(kind)
            for line in catalog.function(kind).estimate(case.body).lines
        }
        said = [] if charged_by == NO_RATE else charged_by.split(", ")
        assert counted == {UNITS[each] for each in said}

    assert_each(rows, check)
    assert sorted(k for kinds, _ in rows for k in kinds) == sorted(
        function.kind for function in catalog
    )
