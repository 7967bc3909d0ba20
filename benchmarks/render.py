"""Rendering in the sandbox's worker, compared with encoding alone.

The plain way encodes the same number of frames of a moving ramp with the same encoder
and settings, and draws nothing else. Limits: at most 2.5 times the plain way, and 15 s
at 4K in under 250 MB. 5 s at 720p take under 2 s on two idle cores.
"""

from __future__ import annotations

import importlib.metadata as metadata
import json
import os
import pickle
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np

from mediakit.sandbox.render.protocol import PROBE, RenderRequest

ROUNDS = 5
FPS = 24
LIMIT, MEMORY_LIMIT_MB = 2.5, 250.0
SIZES = {"720p": (1280, 720), "4k": (3840, 2160)}
CASES = [
    ("text-to-video", {"duration": 5, "resolution": "720p", "audio": "native"}),
    ("r1", {"duration": 5, "resolution": "720p"}),
    ("text-to-video", {"duration": 15, "resolution": "4k", "audio": "native"}),
    ("r2", {"duration": 15, "resolution": "4k", "generate_audio": True}),
]


def plain_s(seconds: int, size: tuple[int, int], path: Path) -> float:
    """Encode a moving ramp; return the seconds it took."""
    width, height = size
    ramp = np.add.outer(np.arange(height), np.arange(width)).astype(np.uint8)
    started = time.perf_counter()
    with av.open(str(path), "w") as file:
        stream = file.add_stream("libx264", rate=FPS)
        assert isinstance(stream, av.VideoStream)
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        stream.options = {"preset": "ultrafast", "tune": "zerolatency", "crf": "21"}
        frame = av.VideoFrame(width, height, "yuv420p")
        for index in range(seconds * FPS):
            luma = np.frombuffer(frame.planes[0], np.uint8)
            luma.reshape(height, -1)[:, :width] = ramp + np.uint8(index % 256)
            frame.pts, frame.time_base = index, Fraction(1, FPS)
            file.mux(stream.encode(frame))
        file.mux(stream.encode(None))
    return time.perf_counter() - started


def rendered(kind: str, body: dict[str, Any], folder: Path) -> tuple[float, float]:
    """Render in a new, warm worker; return its seconds and its peak in MB."""
    server, theirs = socket.socketpair()
    command = [sys.executable, "-m", "mediakit.sandbox.render"]
    with subprocess.Popen(command, stdin=theirs.fileno()) as worker, server:
        theirs.close()
        ask(server, PROBE, {}, folder)
        started = time.perf_counter()
        answer = ask(server, kind, {"prompt": "a kite over dunes", **body}, folder)
        took_s = time.perf_counter() - started
        assert "result" in answer, answer
        status = Path(f"/proc/{worker.pid}/status").read_text()
        server.close()
    peak_kb = next(line.split()[1] for line in status.splitlines() if "VmHWM" in line)
    return took_s, int(peak_kb) / 1_000


def ask(
    server: socket.socket, kind: str, body: dict[str, Any], folder: Path
) -> dict[str, Any]:
    request = RenderRequest(kind, body, {}, folder / "rendered.mp4", seed=1)
    content = pickle.dumps(request)
    server.sendall(len(content).to_bytes(4) + content)
    with server.makefile("rb") as file:
        answer: dict[str, Any] = json.loads(file.readline())
    return answer


def main() -> int:
    """Measure in turn, print the table, and return the exit status."""
    held = True
    print(f"medians of {ROUNDS} rounds, PyAV {metadata.version('av')}, ", end="")
    print(f"{os.cpu_count()} cores")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for kind, body in CASES:
            seconds, resolution = int(body["duration"]), str(body["resolution"])
            pairs = [
                (
                    plain_s(seconds, SIZES[resolution], folder / "plain.mp4"),
                    *rendered(kind, body, folder),
                )
                for _ in range(ROUNDS)
            ]
            columns = [statistics.median(each) for each in zip(*pairs, strict=True)]
            plain, ours, peak_mb = columns
            label = f"{kind}, {seconds} s {resolution}"
            print(f"  {label:24} {plain:5.2f} s plain {ours:5.2f} s ours", end="")
            print(f" ({ours / plain:.2f}), {peak_mb:.0f} MB")
            held &= peak_mb <= MEMORY_LIMIT_MB and ours / plain <= LIMIT
    return 0 if held else 1


if __name__ == "__main__":
    raise SystemExit(main())
