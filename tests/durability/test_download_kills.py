"""A download that is killed at any step can be repeated by the same call."""

from __future__ import annotations

import json
from itertools import count
from pathlib import Path

from mediakit import Client
from mediakit.sandbox.server.running import RunningSandbox
from tests.support import zygote
from tests.support.samples.media_samples import make_png

KILLED = -9
PROGRAM = """
import os, signal, sys
from mediakit import Client

# Python announces each of these steps just before it is taken.
STEPS = ("os.link", "os.rename", "os.remove", "open")
base_url, api_key, home, job_id, folder, steps = sys.argv[1:]
left = int(steps)

def kill_before_the_last_step(event, args):
    global left
    if event in STEPS and str(args[0]).startswith(folder):
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)

with Client(base_url, api_key, home=home) as client:
    job = client.job(job_id)
    sys.addaudithook(kill_before_the_last_step)
    job.download(folder + "/result.png")
"""


def test_a_download_killed_before_any_of_its_steps_is_finished_by_the_same_call(
    sandbox: RunningSandbox, client: Client, tmp_path: Path
) -> None:
    png = make_png(tmp_path / "cat.png", (64, 48))
    job = client.submit("image-upscale", image_url=png, upscale_factor="x2")
    job.wait()

    for steps in count():
        folder = tmp_path / f"killed-after-{steps}"
        folder.mkdir()
        home = str(tmp_path / "home-of-the-killed")
        given = (sandbox.base_url, sandbox.api_key, home, job.id, str(folder))
        life = zygote.start(PROGRAM, *given, str(steps))
        _, errors = life.finish()
        assert life.returncode in (0, KILLED), errors

        file = job.download(folder / "result.png")
        said = json.loads(Path(f"{file}.json").read_text("utf-8"))
        assert said["job_id"] == job.id
        assert said["size_bytes"] == file.stat().st_size
        if life.returncode == 0:
            break
    assert steps >= 3
