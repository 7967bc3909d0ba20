"""Public names, the greeting, and a job that displays itself once."""

from __future__ import annotations

from pathlib import Path

import pytest

import mediakit as mk
from mediakit import entry_points
from mediakit.client import Service
from mediakit.client.service import Backend
from mediakit.sandbox.server.running import RunningSandbox
from tests.support.kernels import run_cells


def test_the_public_names_are_sorted_and_all_there() -> None:
    names = mk.__all__

    assert names == sorted(names, key=str)
    assert len(names) == len(set(names))
    for name in names:
        assert getattr(mk, name).__module__.startswith("mediakit")
    assert set(names) <= set(dir(mk))


def test_a_pure_estimate_needs_no_client() -> None:
    url = "https://a.test/clip.mp4"
    body = {
        "prompt": "a",
        "duration": "auto",
        "video_urls": [url],
        "omni_reference_task_type": "edit",
    }

    assert mk.estimate("text-to-video", {"prompt": "a"}).text == "$0.34"
    assert mk.estimate("text-to-video", prompt="a").text == "$0.34"
    shorter = mk.estimate("text-to-video", {"prompt": "a", "duration": 5}, duration=3)
    assert shorter.text == "$0.204"
    assert mk.estimate("r1", body).kind == "upper_bound"
    assert mk.estimate("r1", body, seconds={url: 2.5}).text == "$0.72576"


def test_the_repr_of_public_objects_is_readable(client: mk.Client) -> None:
    price = client.estimate("text-to-video", prompt="a", duration=3)

    assert repr(price) == "<estimate $0.204, exact>"
    assert repr(client.balance()).startswith("<balance $")
    methods = [name for name in dir(client.spend) if not name.startswith("_")]
    assert all(f"{name}(" in repr(client.spend) for name in methods)


def test_connect_prints_the_service_and_the_balance(
    sandbox: RunningSandbox, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    client = mk.connect(sandbox.base_url, sandbox.api_key, home=tmp_path)
    said = capsys.readouterr().out

    served = f"{len(client.catalog)} functions"
    assert said.startswith(f"Sandbox at {sandbox.base_url} (no real money): {served}")
    assert "balance $" in said
    assert sandbox.api_key not in said
    client.close()


def test_connect_names_the_unavailable_functions() -> None:
    def greeting(left_out: dict[str, str]) -> str:
        service = Service("https://api.test", "key")
        backend = Backend(service, mk.Catalog((), left_out), is_sandbox=False)
        return entry_points._greeting(backend, 1_000_000)

    start = "Connected at https://api.test: 0 functions, balance $1.00."
    assert greeting({}) == start
    assert greeting({"a/b/c": "a JSON array"}) == (
        f"{start} 1 more takes a JSON array instead of a JSON object and is left out."
    )
    form = "multipart/form-data"
    assert greeting({"a/b/c": form, "a/b/d": "a JSON array", "a/b/e": form}) == (
        f"{start} 3 more take multipart/form-data or a JSON array instead of "
        "a JSON object and are left out."
    )


SUBMIT = 'job = client.submit("text-to-video", prompt="shown once", duration=3)'


BAD_CELLS = {
    "mk.connect(base_url='https://api.media.test')": "MEDIAKIT_API_KEY",
    "mk.connect('http://127.0.0.1:9', 'a-key-0123')": "does not answer",
    "client.form('text-to-vidoe')": "text-to-video",
    "client.submit('text-to-video', prompt='a', duration=99)": "3 to 15 s",
    "client.submit('image-upscale', image_url='notes.txt')": "cannot be read as a pict",
    "client.submit('image-upscale', image_url='gone.png')": "no such file",
    "client.job('media_none')": "media_none",
    "client.spend.daily('2026-13-01', '2026-13-02')": "2026-13-01",
}
BOOKS = "print(len(client.history.frame()), client.balance().balance_micro_usd)"
NOTEBOOK = (
    "from mediakit.widgets.form.draft_store import current_notebook\n"
    "print(current_notebook())"
)
DOCTOR = "import sys\nsys.modules['uvicorn'] = None\nmk.doctor()"


def test_in_a_kernel_errors_are_one_sentence_and_a_job_is_shown_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEDIAKIT_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("JPY_SESSION_NAME", str(tmp_path / "a.ipynb"))
    (tmp_path / "notes.txt").write_text("no picture", "utf-8")
    connect = "import mediakit as mk\nclient = mk.connect()"
    waiting = "job.wait(timeout_s=240)"
    # One kernel for all that cells show: it takes seconds to start.
    _, *bad, books, notebook, _, first, value, again, doctor = run_cells(
        [
            connect,
            *BAD_CELLS,
            BOOKS,
            NOTEBOOK,
            SUBMIT,
            waiting,
            "job",
            waiting,
            DOCTOR,
        ],
        tmp_path,
        allow_errors=True,
    )

    for cell, words in zip(bad, BAD_CELLS.values(), strict=True):
        [error] = [o for o in cell["outputs"] if o["output_type"] == "error"]
        [sentence] = error["traceback"]
        assert words in sentence
        assert len(sentence) < 400
    assert books["outputs"][0]["text"] == "0 100000000\n"
    assert notebook["outputs"][0]["text"] == f"{tmp_path / 'a.ipynb'}\n"
    for cell in (first, value, again):
        data = [output.get("data", {}) for output in cell["outputs"]]
        # The card stands for the line that was there while the cell waited.
        texts = [each["text/plain"] for each in data if each["text/plain"]]
        assert len(texts) == 1, cell["source"]
        assert texts[0].startswith("Text to video: completed")
    report = " ".join(doctor["outputs"][0]["data"]["text/plain"].split())
    assert "Front end JupyterLab or Notebook" in report
    assert "The sandbox needs uvicorn: %pip install uvicorn (then restart" in report
