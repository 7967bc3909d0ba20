"""The harness itself: what it says of a page is what a person would see there."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from PIL import Image

from tests.browser.harness import Lab, LabServer, video_facts

pytestmark = [pytest.mark.browser, pytest.mark.soak]

SLIDER = """
import ipywidgets as w
slider = w.IntSlider(value=3, max=20)
label = w.Label("still 3")
slider.observe(lambda change: setattr(label, "value", f"now {change.new}"), "value")
w.VBox([slider, label])
"""
ENDLESS = 'import time; print("be" + "gun"); time.sleep(60)'
KERNEL = "window.jupyterapp.shell.currentWidget.sessionContext.session.kernel"
COMM = f"""() => {{
    const comm = {KERNEL}.createComm("jupyter.widget.control");
    comm.open({{}}, {{ version: "1.0.0" }});
    comm.send({{ method: "request_states" }});
}}"""
CALLED_IDLE = f"() => {KERNEL}.status === 'idle'"
WIDTH, HEIGHT, FPS, FRAMES = 64, 48, 25, 50


def write_video(path: Path, codec: str) -> None:
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=FPS)
        assert isinstance(stream, av.VideoStream)
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "yuv420p"
        stream.time_base = Fraction(1, FPS)
        for index in range(FRAMES):
            grey = np.full((HEIGHT, WIDTH, 3), 4 * index, np.uint8)
            for packet in stream.encode(av.VideoFrame.from_ndarray(grey, "rgb24")):
                container.mux(packet)
        for packet in stream.encode():
            container.mux(packet)


def test_a_slider_that_is_moved_by_key_changes_the_label(
    lab: Lab, lab_server: LabServer
) -> None:
    lab.open(lab_server.add_notebook("slider.ipynb", [SLIDER]))
    lab.run_all()
    handle = lab.cell(0).get_by_role("slider")
    handle.focus()
    handle.press("ArrowRight")
    lab.see(0, "now 4")
    assert float(handle.get_attribute("aria-valuenow") or "nan") == 4

    lab.save()
    lab.reload()
    lab.see(0, "now 4")

    lab.restart_kernel()
    lab.run_cell(0)
    lab.see(0, "still 3")
    assert lab.console_errors() == []


def test_an_error_in_the_page_is_noted(lab: Lab, lab_server: LabServer) -> None:
    show = "from IPython.display import HTML\nHTML('<img src=\"missing.png\">')"
    lab.open(lab_server.add_notebook("missing.ipynb", [show]))
    with lab.page.expect_console_message(lambda message: message.type == "error"):
        lab.run_all()
    assert [each for each in lab.console_errors() if "missing.png" in each]


def test_a_saved_notebook_opens_without_starting_a_kernel(
    lab: Lab, lab_server: LabServer
) -> None:
    lab.open(lab_server.add_notebook("saved.ipynb", ["print(40 + 2)"]))
    lab.run_all()
    saved = lab.save()
    assert saved["cells"][0]["outputs"][0]["text"] == ["42\n"]
    lab.shutdown_kernel()
    assert lab_server.kernel_ids() == []

    lab.open("saved.ipynb", kernel=False)
    lab.see(0, "42")
    assert lab_server.kernel_ids() == []


def test_a_killed_kernel_comes_back_empty(lab: Lab, lab_server: LabServer) -> None:
    cells = ["kept = 1", "print('kept' in globals())"]
    lab.open(lab_server.add_notebook("killed.ipynb", cells))
    lab.run_cell(0)
    lab.kill_kernel()
    lab.reload()
    lab.run_cell(1)
    lab.see(1, "False")


def test_a_screenshot_shows_the_theme(lab: Lab, lab_server: LabServer) -> None:
    lab.open(lab_server.add_notebook("theme.ipynb", ["1"]))
    lab.hide_sidebar()

    def brightness(name: str) -> float:
        with Image.open(lab.screenshot(name)) as picture:
            assert picture.size == (1280, 900)
            return float(np.asarray(picture.convert("L")).mean())

    lab.theme("dark")
    dark = brightness("harness-dark")
    lab.theme("light")
    assert dark < 100 < 200 < brightness("harness-light")


def test_frames_of_an_h264_video_are_decoded(lab: Lab, lab_server: LabServer) -> None:
    write_video(lab_server.root / "h264.mp4", "libx264")
    show = "from IPython.display import Video\nVideo('h264.mp4')"
    lab.open(lab_server.add_notebook("h264.ipynb", [show]))
    lab.run_all()
    facts = video_facts(lab.page, ".jp-OutputArea video")
    assert (facts.width, facts.height) == (WIDTH, HEIGHT)
    assert facts.shows_a_picture
    assert facts.error is None
    assert facts.duration_s == pytest.approx(FRAMES / FPS, abs=1 / FPS)


def test_a_video_without_a_decoder_shows_no_picture(
    lab: Lab, lab_server: LabServer
) -> None:
    write_video(lab_server.root / "mpeg4.mp4", "mpeg4")
    show = "from IPython.display import Video\nVideo('mpeg4.mp4')"
    lab.open(lab_server.add_notebook("mpeg4.ipynb", [show]))
    lab.run_all()
    facts = video_facts(lab.page, ".jp-OutputArea video", timeout_s=5)
    assert not facts.shows_a_picture


def test_a_cell_that_runs_beside_a_comm_message_is_waited_for(
    lab: Lab, lab_server: LabServer
) -> None:
    lab.open(lab_server.add_notebook("beside.ipynb", [ENDLESS]))
    lab.start_cell(0)
    lab.see(0, "begun")
    lab.page.evaluate(COMM)
    lab.page.wait_for_function(CALLED_IDLE)  # which is JupyterLab's mistake
    with pytest.raises(AssertionError, match=r"an idle kernel.*end: 0;"):
        lab.wait_idle(timeout_s=2)


def test_what_does_not_come_ends_in_a_sentence_and_a_picture(
    lab: Lab, lab_server: LabServer
) -> None:
    lab.open(lab_server.add_notebook("endless.ipynb", [ENDLESS]))
    lab.start_cell(0)
    lab.see(0, "begun")  # a slow machine may take its time to run it
    with pytest.raises(AssertionError, match="an idle kernel") as raised:
        lab.wait_idle(timeout_s=2)
    assert "Waited 2 s" in str(raised.value)
    assert "cells not at their end: 0;" in str(raised.value)
    assert Path(str(raised.value).rsplit("Picture: ", 1)[1]).is_file()
