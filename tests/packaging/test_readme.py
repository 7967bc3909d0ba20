"""Every line of the README that a check can keep true: code, links, tables, figures."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx

import mediakit as mk
from mediakit.catalog import Bindings
from mediakit.estimates import PriceUnit
from tests.packaging.test_docs import blocks
from tests.spec import accepted
from tests.support.rows import assert_each
from tests.support.servers.serving import ROOT

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
