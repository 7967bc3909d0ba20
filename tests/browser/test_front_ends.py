"""Other front ends than JupyterLab: Notebook 7 and Voilà."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, TimeoutError, expect

from tests.browser.harness import VIEWPORT, Lab, LabServer, video_facts
from tests.browser.harness.wait import WAITS_S, becomes, screenshot, within
from tests.browser.test_dashboard import (
    MAKES,
    SHOWS,
    TOTAL,
    TOTAL_MICRO_USD,
    downloaded,
    drawn,
    names,
    total_of,
)
from tests.browser.test_gallery import WALL, tile, wall_cells
from tests.support.servers.serving import apart, free_port, serving

pytestmark = pytest.mark.browser

QUICKSTART = Path(__file__).parents[2] / "notebooks" / "01_quickstart.ipynb"
CONNECT, FORM = 1, 3
NOWHERE = "http://127.0.0.1:9"  # the wall loads no clip before it is played
PROMPT = "a red balloon over a mountain lake at dawn"
IDLE = ".jp-Notebook-ExecutionIndicator[data-status=idle]"
STARTS_S, TRIES = 10.0, 3
TOKEN = "token-of-a-test"
LACKING = "import mediakit as mk\nclient = mk.connect()"
FORM_OF = "client.form('text-to-video')"


@pytest.fixture
def visitor(browser: Browser) -> Iterator[Page]:
    with browser.new_context(viewport=VIEWPORT, device_scale_factor=1) as context:
        page = context.new_page()
        page.set_default_timeout(WAITS_S * 1000)
        yield page


@pytest.fixture
def page(visitor: Page, lab_server: LabServer) -> Iterator[Page]:
    yield visitor
    lab_server.shut_down_kernels()


def seen(where: Locator, text: str, page: Page) -> None:
    with within(page, repr(text)):
        found = where.get_by_text(text).filter(visible=True).first
        found.wait_for(state="visible")


def type_and_generate(page: Page, form: Locator, name: str) -> None:
    """Change the form, see the price follow, press Generate, and see the video play."""
    seen(form, "$0.34", page)
    # A new clip, because an existing one would be shown and not generated.
    form.get_by_label("prompt").first.fill(f"{PROMPT}, {name}")
    duration = form.get_by_label("duration").first
    duration.fill("3")
    duration.press("Enter")
    seen(form, "$0.20", page)
    form.scroll_into_view_if_needed()
    screenshot(form, f"{name}-form")

    form.locator("button.mk-go").click()
    video = form.locator("video:visible").first
    with within(page, "the video"):
        video.wait_for(state="visible")
    seen(form, "as estimated", page)
    facts = video_facts(page, ".mk-form video:visible")
    assert (facts.width, facts.height) == (1280, 720)
    assert facts.shows_a_picture
    screenshot(page, f"{name}-done")


SAID = """root => {
    const found = [root, ...root.querySelectorAll("*")].filter(each => {
        const { content, display } = getComputedStyle(each, "::before");
        return display !== "none" && content.includes("pip install anywidget");
    });
    return found.filter(each => each.checkVisibility()).length;
}"""


def run_cell(page: Page, cell: Locator) -> None:
    prompt = cell.locator(".jp-InputPrompt").first
    for _ in range(TRIES):
        prompt.click()
        page.keyboard.press("Shift+Enter")
        # The page may skip the cell while it is still connecting to its kernel.
        with suppress(AssertionError):
            expect(prompt).not_to_have_text("[ ]:", timeout=STARTS_S * 1000)
            return
    raise AssertionError(f"The cell did not run after {TRIES} tries.")


@pytest.mark.soak
def test_a_video_is_generated_in_notebook_7(page: Page, lab_server: LabServer) -> None:
    name = lab_server.add_file(QUICKSTART)
    page.goto(f"{lab_server.url}/notebooks/{name}?token={lab_server.token}")
    cells = page.locator(".jp-Notebook .jp-Cell")
    with within(page, "the cells of Notebook 7"):
        cells.nth(FORM).wait_for(state="visible")
        page.locator(IDLE).first.wait_for()

    run_cell(page, cells.nth(CONNECT))
    seen(cells.nth(CONNECT), "no real money", page)
    run_cell(page, cells.nth(FORM))
    type_and_generate(page, cells.nth(FORM).locator(".mk-form").first, "notebook-7")


@pytest.mark.soak
def test_a_wall_takes_keys_and_a_month_gives_its_files_in_voila(
    page: Page, lab_server: LabServer
) -> None:
    cells = [wall_cells(NOWHERE), WALL, MAKES, SHOWS]
    name = lab_server.add_notebook("voila.ipynb", cells)
    page.goto(
        f"{lab_server.url}/voila/render/{name}?token={lab_server.token}",
    )
    dashboard = page.locator(".mk-month").first
    with within(page, "the dashboard in Voilà"):
        dashboard.wait_for(state="visible")

    wall = page.locator(".mk-wall")
    expect(page.locator("[class^=mediakit-cards] table")).to_be_hidden()
    tile(wall, 0).focus()
    page.keyboard.press("4")
    page.keyboard.press("k")
    expect(wall.locator(".mk-wall-figures-row")).to_contain_text("1kept")
    screenshot(page, "wall-voila")

    drawn(dashboard)
    expect(dashboard.locator(".mk-sp-figures b").nth(1)).to_have_text(TOTAL)
    expect(page.get_by_text("Run the cell to use it.")).to_be_hidden()
    assert total_of(downloaded(page, dashboard)) == TOTAL_MICRO_USD
    dashboard.get_by_role("button", name="Key", exact=True).click()
    names(dashboard, 0, "key_1")
    screenshot(page, "dashboard-voila-by-key")


@pytest.fixture(scope="module")
def pages_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Run `make voila` with this environment, without installing it again."""
    folder, port = tmp_path_factory.mktemp("pages"), free_port()
    url = f"http://127.0.0.1:{port}"
    arguments = f"--no-browser --port={port} --token={TOKEN}"
    command = [
        *("make", "--assume-old", f"{sys.prefix}/ready-voila", "voila"),
        *(f"VENV={sys.prefix}", f"VOILA_ARGS={arguments}"),
    ]
    ready = f"{url}/?token={TOKEN}"
    # make may run the test itself; its flags must not reach the inner make.
    with serving(command, ready, folder / "log", apart(folder, MAKEFLAGS="")):
        yield url


@pytest.mark.soak
def test_make_voila_serves_a_studio_that_generates_and_the_dashboard_of_its_spend(
    visitor: Page, pages_url: str
) -> None:
    visitor.goto(f"{pages_url}/?token={TOKEN}")
    listed = visitor.get_by_text("dashboard.ipynb").first
    for _ in range(TRIES):  # Voilà's own list can stay empty until it is loaded again
        with suppress(TimeoutError):
            listed.wait_for(state="visible", timeout=WAITS_S * 1000 / TRIES)
            break
        visitor.reload()
    expect(listed).to_be_visible()
    visitor.goto(f"{pages_url}/voila/render/studio.ipynb")
    studio = visitor.locator(".mk-studio").first
    with within(visitor, "the studio"):
        studio.wait_for(state="visible")
    screenshot(visitor, "voila-studio")
    studio.get_by_role("button", name="Text to video", exact=True).click()
    type_and_generate(visitor, studio.locator(".mk-form").first, "voila-studio")

    visitor.goto(f"{pages_url}/voila/render/dashboard.ipynb")
    dashboard = visitor.locator(".mk-month").first
    seen(dashboard, "$0.20", visitor)
    seen(dashboard, "all of it is explained", visitor)
    screenshot(visitor, "voila-dashboard")


@pytest.mark.soak
def test_a_page_of_make_voila_asks_for_its_token(visitor: Page, pages_url: str) -> None:
    visitor.goto(f"{pages_url}/voila/render/studio.ipynb")

    expect(visitor.locator("#password_input")).to_be_visible()
    expect(visitor.locator(".mk-studio")).to_have_count(0)


@pytest.mark.soak
def test_a_page_that_cannot_load_anywidget_names_the_missing_package(
    page: Page, lab_server: LabServer
) -> None:
    page.route("**/extensions/anywidget/**", lambda route: route.abort())
    cells = [LACKING, FORM_OF, wall_cells(NOWHERE), WALL]
    lab = Lab(page, lab_server)
    lab.open(lab_server.add_notebook("lacking.ipynb", cells))
    lab.run_all()

    lab.see(1, "Text to video")
    becomes(page, lambda: lab.cell(1).evaluate(SAID), 1)
    lab.screenshot("lacking-form", lab.cell(1))
    becomes(page, lambda: lab.cell(3).evaluate(SAID), 1)
    lab.screenshot("lacking-wall", lab.cell(3))


@pytest.mark.soak
def test_a_page_without_widgets_says_how_to_find_the_missing_package(
    page: Page, lab_server: LabServer
) -> None:
    page.route("**/extensions/@jupyter-widgets/**", lambda route: route.abort())
    lab = Lab(page, lab_server)
    cells = [LACKING, FORM_OF, wall_cells(NOWHERE), WALL]
    lab.open(lab_server.add_notebook("no_widgets.ipynb", cells))
    lab.run_all()

    lab.see(1, "Run mk.doctor() in a cell")
    lab.see(3, "Run mk.doctor() in a cell")
    lab.screenshot("no-widgets", lab.cell(1))
