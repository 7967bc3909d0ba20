"""Untrusted text stays text in real JupyterLab, wherever it is shown."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.harness import Lab
from tests.support.servers.loopback import Asked, LoopbackServer, Said

pytestmark = pytest.mark.browser

MARK = (
    "<img src=x onerror='canary=1'><script>canary=1</script>\"><b class=bird>bird</b>"
)
SCRIPT = "javascript:window.canary=1"
INTO_TAG = "https://a.test/\"onerror='canary=1'><b class=bird>x</b>.png"
FAILURE = {"code": MARK, "message": f"{MARK} {SCRIPT}"}
ENDINGS: list[dict[str, Any]] = [
    {"status": "failed", "error": FAILURE},
    {"status": "completed", "url": SCRIPT},
    {"status": "completed", "url": INTO_TAG},
]


class Hostile(LoopbackServer):
    """A service that returns markup wherever it can."""

    def __init__(self) -> None:
        super().__init__()
        self._numbers = count(1)

    def answer(self, asked: Asked) -> Said:
        if asked.path.endswith("/billing/balance"):
            return Said({"balance_micro_usd": 100_000_000})
        if "/jobs/media_" in asked.path:
            return Said(self._job(int(asked.path.rsplit("_", 1)[1])))
        if asked.method == "GET":
            return Said({"message": MARK}, status=404)
        if asked.json["prompt"] == "refuse":
            return Said({"message": MARK, "detail": {MARK: MARK}}, status=422)
        return Said({"id": f"media_{next(self._numbers)}", "status": "queued"})

    def _job(self, number: int) -> dict[str, Any]:
        ending = dict(ENDINGS[(number - 1) % len(ENDINGS)])
        url = ending.pop("url", None)
        if url is not None:
            file = {"url": url, "content_type": MARK}
            ending["output"] = {"media_type": "image", "image": file}
        billing = {"state": "settled", "charge_micro_usd": 1}
        return {"id": f"media_{number}", "billing": billing, **ending}


@pytest.fixture
def hostile() -> Iterator[str]:
    with Hostile() as server:
        yield server.base_url


START = f"""
import mediakit as mk
from mediakit.catalog import Catalog
mark, script, into_tag = {MARK!r}, {SCRIPT!r}, {INTO_TAG!r}
client = mk.Client(
    {{base_url!r}}, "a-key", home={{home!r}}, catalog=Catalog.default())
form = client.form("text-to-image", prompt=mark, **{{{{mark: mark}}}})
form
"""
MEDIA = """
keys = [dict(timestamp=1000 * n, duration=1000, url=url)
        for n, url in enumerate((mark, script, into_tag))]
display(client.form("compose-video", tracks=[
    dict(id=mark, type="image", keyframes=keys), dict(id=mark, type="image",
    keyframes=keys)]))
client.form("keyframes", images=[mark + ".png", script, into_tag], prompt=script)
"""
JOBS = """
for _ in range(3):
    job = client.submit("text-to-image", prompt=mark, take="next")
    try:
        job.wait()
    except mk.MediakitError as error:
        print(error)
    display(job)
"""
HISTORY = "display(client.history.frame())\nclient.studio()"
REFUSED = 'client.submit("text-to-image", prompt="refuse")'
UNKNOWN = "client.form(mark, **{mark: mark})"
CELLS = (START, MEDIA, JOBS, HISTORY, REFUSED, UNKNOWN)
FOUND = """() => {
    const found = window.canary ? ["it was executed"] : [];
    const safe = /^(https?:|data:image\\/|blob:|$)/;
    for (const each of document.querySelectorAll(".jp-OutputArea *")) {
        if (each.matches("script, .bird")) found.push(each.outerHTML);
        for (const { name, value } of each.attributes) {
            if (name.startsWith("on")) found.push(each.outerHTML);
            if (["href", "src", "poster", "action"].includes(name)
                && !safe.test(value) && !value.startsWith("#"))
                found.push(each.outerHTML);
        }
    }
    return found;
}"""


@pytest.mark.soak
def test_untrusted_text_never_becomes_markup_and_is_never_executed(
    lab: Lab, hostile: str, tmp_path: Path
) -> None:
    start = START.format(base_url=hostile, home=str(tmp_path / "home"))
    lab.begin("canary.ipynb", start, *CELLS[1:], height_px=1400)
    for index in range(len(CELLS)):
        lab.run_cell(index)
    form = lab.cell(0)
    form.get_by_label("prompt").first.fill("refuse")
    form.locator("button.mk-go").click()
    expect(form.locator("[role=alert]")).to_contain_text("onerror")
    form.get_by_role("button", name="Price breakdown").click()

    lab.see(1, "<img src=x onerror=")
    lab.see(2, "not a web address")
    lab.see(2, "<script>canary=1</script>")
    lab.cell(3).get_by_role("tab", name="History", exact=True).click()
    expect(lab.cell(3).get_by_text("<img src=x onerror=").last).to_be_visible()
    for index, name in enumerate(("form", "media", "jobs", "history", "refused")):
        lab.screenshot(f"canary-{name}", lab.cell(index))
    assert lab.page.evaluate(FOUND) == []

    lab.save()
    lab.shutdown_kernel()
    lab.open("canary.ipynb", kernel=False)
    lab.see(2, "<script>canary=1</script>")
    assert lab.page.evaluate(FOUND) == []
