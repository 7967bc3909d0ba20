"""The documentation site builds without warnings, and its links work.

The notebooks in it are executed by `make site`, and by a test of their own.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import mediakit as mk
from mediakit.catalog import Bindings
from mediakit.history import tables
from mediakit.sandbox.server import app

ROOT = Path(__file__).parents[2]
CONFIGURATION = ROOT / "docs" / "reference" / "configuration.md"
LIMIT_S = 1_500
INNER = {"components", "of", "on_close", "owned", "place"}
"""Names of a client for the widgets and sweeps."""
VARIABLE = re.compile(r"MEDIAKIT_[A-Z]+(?:_[A-Z]+)*")


class Page(HTMLParser):
    """The anchors of a page, and where it leads."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element's anchor and links."""
        for name, value in attrs:
            if name == "id" and value:
                self.ids.add(value)
            elif name in ("href", "src") and value:
                self.links.append(value)


def build(folder: Path) -> Path:
    """Build the site; warnings are errors."""
    command = [
        *(sys.executable, "-m", "sphinx", "--fail-on-warning", "--keep-going"),
        *("-q", "-c", "docs", "-D", "nb_execution_mode=off"),
        *("-d", str(folder / "cache"), ".", str(folder / "html")),
    ]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=LIMIT_S, check=False
    )
    assert done.returncode == 0, done.stderr
    return (folder / "html").resolve()


@pytest.mark.soak
# One test, because a build takes longer than all that is found out about it.
def test_the_site_builds_without_warnings_and_lacks_nothing(tmp_path: Path) -> None:
    site = build(tmp_path)
    pages = {path: Page(path.read_text("utf-8")) for path in site.rglob("*.html")}
    described = {name for page in pages.values() for name in page.ids}
    found = {
        "pages that are not in the site": missing_pages(site),
        "links that lead nowhere": stray_links(site, pages),
        "public names without a description": missing_names(described),
        "public methods without a description": missing_methods(described),
        "tables of the history without a description": missing_tables(described),
        "routes of the admin interface without a description": missing_routes(site),
    }

    assert {what: missing for what, missing in found.items() if missing} == {}


def missing_pages(site: Path) -> list[Path]:
    sources = [*(ROOT / "docs").rglob("*.md"), *(ROOT / "notebooks").glob("*.ipynb")]
    built = [site / p.relative_to(ROOT).with_suffix(".html") for p in sources]
    return [path for path in built if not path.is_file()]


def stray_links(site: Path, pages: dict[Path, Page]) -> list[tuple[str, str]]:
    return [
        (str(path.relative_to(site)), link)
        for path, page in pages.items()
        for link in page.links
        if not leads(link, path, site, pages)
    ]


def missing_names(described: set[str]) -> list[str]:
    names = {name.rpartition(".")[2] for name in described if "mediakit." in name}
    return [name for name in mk.__all__ if name not in names]


def missing_methods(described: set[str]) -> list[str]:
    public = [
        f"mediakit.{owner.__name__}.{name}"
        for owner in (mk.Client, mk.AsyncClient, mk.Job)
        for name in dir(owner)
        if not name.startswith("_") and name not in INNER
    ]
    assert len(public) > 50
    return [name for name in public if name not in described]


def missing_tables(described: set[str]) -> set[str]:
    return {name.replace("_", "-") for name in tables.metadata.tables} - described


def missing_routes(site: Path) -> list[str]:
    page = (site / "docs" / "reference" / "sandbox_admin.html").read_text("utf-8")
    own = [route.path for route in app.ROUTES if route.path.startswith("/sandbox/")]
    assert len(own) > 20
    return [path for path in own if f"{path}<" not in page]


def leads(link: str, path: Path, site: Path, pages: dict[Path, Page]) -> bool:
    """Return whether a link's target exists, without using the network."""
    parts = urlsplit(link)
    if parts.scheme:
        return parts.scheme in ("https", "data", "mailto")
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if not target.is_relative_to(site) or not target.is_file():
        return False
    anchor = unquote(parts.fragment)
    return not anchor or target not in pages or anchor in pages[target].ids


def test_the_configuration_page_has_every_variable_that_is_read() -> None:
    sources = [*(ROOT / "src").rglob("*.py"), *(ROOT / "tools").glob("*.py")]
    read = {
        name for path in sources for name in VARIABLE.findall(path.read_text("utf-8"))
    }
    written = set(VARIABLE.findall(CONFIGURATION.read_text("utf-8")))

    assert written - {"MEDIAKIT_SOAK"} == read


def test_the_example_of_the_configuration_page_is_accepted(tmp_path: Path) -> None:
    [example] = re.findall(r"```toml\n(.*?)```", CONFIGURATION.read_text(), re.DOTALL)
    (tmp_path / "mediakit.toml").write_text(example, "utf-8")
    bindings = Bindings.read(tmp_path)

    sections = ["openapi", "functions", "rates", "reports"]
    assert list(tomllib.loads(example)) == sections
    assert bindings.openapi == "https://media.example.com/openapi.json"
    paths = {path for each in bindings.functions.values() for path in each}
    assert set(bindings.rates) <= paths | set(bindings.functions)
    assert bindings.reports == {"charge": "spend_micro_usd"}
