"""Browsers on other machines show and save results."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Locator, expect

from mediakit.sandbox.server.running import RunningSandbox
from tests.browser.harness import VIEWPORT, Lab, LabServer, connected, serve_lab
from tests.support.recipes import delivered
from tests.support.servers.serving import ROOT
from tests.support.sketches import add_startup

pytestmark = pytest.mark.browser

PREFIX = "/user/someone/"
PROXY = "tests.support.servers.port_proxy"
CLIP = 'clip = client.run("text-to-video", prompt="a clip", duration=3)\nclip'
PICTURE = 'picture = client.run("text-to-image", prompt="a picture")\npicture'
WALL = 'client.sweep("text-to-video", prompt=["a clip"], duration=3).run(budget="$1")'
LOGIN: Any = {"content_type": "text/html", "body": "<!DOCTYPE HTML><title>Log in"}
URLS = "print(clip.url, picture.url)"


@pytest.fixture(scope="module")
def hub_server(
    chromium_path: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LabServer]:
    """Run a server as behind a hub, whose pages reach the kernel's ports."""
    folder = tmp_path_factory.mktemp("hub")
    add_startup(folder / "ipython")
    hub = {"JUPYTERHUB_SERVICE_PREFIX": PREFIX, "PYTHONPATH": str(ROOT)}
    with serve_lab(folder, hub, base_url=PREFIX, extension=PROXY) as server:
        yield server


@pytest.fixture
def bare_hub_lab(browser: Browser, chromium_path: str, tmp_path: Path) -> Iterator[Lab]:
    """Open a hub whose pages cannot reach the kernel's ports."""
    add_startup(tmp_path / "ipython")
    hub = {"JUPYTERHUB_SERVICE_PREFIX": PREFIX}
    with (
        serve_lab(tmp_path, hub, base_url=PREFIX) as server,
        browser.new_context(viewport=VIEWPORT, device_scale_factor=1) as context,
    ):
        yield Lab(context.new_page(), server)


@pytest.fixture
def hub_lab(browser: Browser, hub_server: LabServer) -> Iterator[Lab]:
    with browser.new_context(viewport=VIEWPORT, device_scale_factor=1) as context:
        yield Lab(context.new_page(), hub_server)
    hub_server.shut_down_kernels()


def saved(lab: Lab, where: Locator) -> bytes:
    button = where.get_by_role("button", name="Download", exact=True)
    with lab.page.expect_download() as waiting:
        button.filter(visible=True).first.click()
    return delivered(Path(waiting.value.path()).read_bytes())


def saved_of_tile(lab: Lab, cell: Locator) -> bytes:
    cell.locator(".mk-wall-tile").first.press("a")
    return saved(lab, lab.page.locator(".mk-wall-menu"))


def test_a_download_behind_a_hub_is_the_file_and_never_its_login_page(
    hub_lab: Lab, sandbox: RunningSandbox
) -> None:
    lab = hub_lab
    lab.begin("hub.ipynb", connected(sandbox, "hub"), CLIP, PICTURE, WALL, URLS)
    lab.run_all()
    addresses = lab.printed(4).split()
    clip, picture = (httpx.get(url, timeout=60).content for url in addresses)
    assert b"ftyp" in clip[:12]

    assert saved(lab, lab.cell(1)) == clip
    lab.see(1, "Your browser saved")
    assert saved(lab, lab.cell(2)) == picture
    assert saved_of_tile(lab, lab.cell(3)) == clip
    lab.see(3, "is in your browser's downloads")

    # The hub's cookie has expired: the response is its login page, which is not a file.
    lab.page.route("**/proxy/**", lambda route: route.fulfill(**LOGIN))
    assert saved(lab, lab.cell(1)) == clip
    assert saved(lab, lab.cell(2)) == picture
    lab.cell(3).locator(".mk-wall-tile").first.press("a")
    menu = lab.page.locator(".mk-wall-menu")
    menu.get_by_role("button", name="Download", exact=True).click()
    # The message stays for some seconds.
    told = str(lab.page.wait_for_function(SAVED_TO).json_value())
    name = told.removeprefix("Saved to ").split(",")[0]
    assert delivered(Path(name).read_bytes()) == clip
    expect(lab.cell(3).get_by_text("is in your browser's downloads")).to_have_count(0)
    lab.screenshot("hub-downloads", lab.cell(3))


NATURAL = "image => image.complete && image.naturalWidth"
SAVED_TO = """() => [...document.querySelectorAll(".mk-wall-told")]
    .map(told => told.textContent).find(text => text.startsWith("Saved to "))"""
FRAMES = """async video => {
    await video.play().catch(() => {});
    return video.videoWidth;
}"""
WALL_OF_BOTH = """
client.sweep("text-to-image", prompt=["a picture"]).run(budget="$1").gallery()
"""


def expect_through_the_kernel(lab: Lab, port: int, remedy: str) -> None:
    """Expect a picture and a clip that play, and the true reason beside them."""
    reason = (
        f"Your browser cannot reach 127.0.0.1:{port} of the machine that runs the "
        f"kernel. {remedy}"
    )
    lab.see(1, reason)
    lab.see(1, "Open the original video in a new tab (your browser cannot reach it)")
    video = lab.cell(1).locator(".mk-job video")
    expect(video).to_have_attribute("src", re.compile("^blob:"))
    lab.page.wait_for_function(FRAMES, arg=video.element_handle())
    lab.screenshot(f"far-clip-{port}", lab.cell(1))

    lab.see(2, reason)
    lab.see(2, "Open the original picture in a new tab (your browser cannot reach it)")
    picture = lab.cell(2).locator(".mk-job img")
    expect(picture).to_have_attribute("src", re.compile("^blob:"))
    lab.page.wait_for_function(NATURAL, arg=picture.element_handle())
    assert picture.evaluate(NATURAL) == 1024
    lab.screenshot(f"far-picture-{port}", lab.cell(2))

    lab.cell(3).locator(".mk-wall-tile").first.press(" ")
    lab.see(3, reason)
    video = lab.cell(3).locator(".mk-wall-tile video")
    expect(video).to_have_attribute("src", re.compile("^blob:"))
    lab.screenshot(f"far-wall-{port}", lab.cell(3))

    lab.see(4, reason)
    picture = lab.cell(4).locator(".mk-wall-tile img")
    expect(picture).to_have_attribute("src", re.compile("^blob:"))
    for index in (1, 2, 3, 4):
        expect(lab.cell(index).get_by_text(FALSE)).to_have_count(0)


FALSE = re.compile("cannot play this file|cannot show this file|was erased")
CELLS = (CLIP, PICTURE, WALL, WALL_OF_BOTH)


def test_through_a_tunnel_results_come_through_the_kernel_and_say_why(
    lab: Lab, sandbox: RunningSandbox
) -> None:
    lab.page.route(f"{sandbox.base_url}/**", lambda route: route.abort())
    lab.begin("tunnel.ipynb", connected(sandbox, "tunnel"), *CELLS)
    lab.run_all()
    port = int(sandbox.base_url.rpartition(":")[2])
    remedy = f"Forward that port, too, such as with ssh -L {port}:127.0.0.1:{port}."
    expect_through_the_kernel(lab, port, remedy)


@pytest.mark.soak
def test_behind_a_hub_without_a_proxy_results_come_through_the_kernel_and_say_why(
    bare_hub_lab: Lab, sandbox: RunningSandbox
) -> None:
    lab = bare_hub_lab
    lab.begin("bare-hub.ipynb", connected(sandbox, "bare-hub"), *CELLS)
    lab.run_all()
    port = int(sandbox.base_url.rpartition(":")[2])
    remedy = "Install jupyter-server-proxy where the Jupyter server runs."
    expect_through_the_kernel(lab, port, remedy)
