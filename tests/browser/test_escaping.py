"""Words of others stay words in real JupyterLab, wherever they are shown."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.harness import Lab

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


class Hostile(BaseHTTPRequestHandler):
    """A service that says markup wherever it can."""

    taken = 0

    def do_GET(self) -> None:
        if self.path.endswith("/billing/balance"):
            self._say(200, {"balance_micro_usd": 100_000_000})
        elif "/jobs/media_" in self.path:
            self._say(200, self._job(int(self.path.rsplit("_", 1)[1])))
        else:
            self._say(404, {"message": MARK})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if body["prompt"] == "refuse":
            self._say(422, {"message": MARK, "detail": {MARK: MARK}})
            return
        Hostile.taken += 1
        self._say(200, {"id": f"media_{Hostile.taken}", "status": "queued"})

    def _job(self, number: int) -> dict[str, Any]:
        ending = dict(ENDINGS[(number - 1) % len(ENDINGS)])
        url = ending.pop("url", None)
        if url is not None:
            file = {"url": url, "content_type": MARK}
            ending["output"] = {"media_type": "image", "image": file}
        billing = {"state": "settled", "charge_micro_usd": 1}
        return {"id": f"media_{number}", "billing": billing, **ending}

    def _say(self, status: int, body: dict[str, Any]) -> None:
        content = json.dumps(body).encode()
        self.send_response(status, "said")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def hostile() -> Iterator[str]:
    """Serve it, and give its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hostile)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


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
        job.wait(timeout_s=60)
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
def test_words_of_others_never_become_markup_and_nothing_in_them_is_executed(
    lab: Lab, hostile: str, tmp_path: Path
) -> None:
    start = START.format(base_url=hostile, home=str(tmp_path / "home"))
    lab.begin("canary.ipynb", start, *CELLS[1:], height_px=1400)
    for index in range(len(CELLS)):
        lab.run_cell(index)
    form = lab.cell(0)
    form.get_by_label("prompt").first.fill("refuse")
    form.get_by_role("button", name="Generate").click()
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
