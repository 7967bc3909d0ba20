"""Checking and pricing a body, compared with plain pydantic on the same body.

Plain pydantic only checks types. mediakit also applies the rules between fields, and
prices. Limits for the median body: a whole check at most 10 times plain pydantic and
below 200 us, an estimate at most 15 times and below 50 us.
"""

from __future__ import annotations

import importlib.metadata as metadata
import statistics
import time
from collections.abc import Callable
from typing import Any

from mediakit.catalog import Catalog

ROUNDS = 15
CALLS = 200
CHECK_LIMIT, CHECK_LIMIT_US = 10.0, 200.0
ESTIMATE_LIMIT, ESTIMATE_LIMIT_US = 15.0, 50.0

PNG, MP4, WAV = "https://a.test/1.png", "https://a.test/1.mp4", "https://a.test/1.wav"


def keyframes(count: int) -> list[dict[str, Any]]:
    return [{"timestamp": n * 900, "duration": 900, "url": MP4} for n in range(count)]


def tracks(count: int) -> list[dict[str, Any]]:
    each = 32 // count
    return [
        {"id": f"t{n}", "type": "video", "keyframes": keyframes(each)}
        for n in range(count)
    ]


BODIES: list[tuple[str, dict[str, Any]]] = [
    ("r1", {"prompt": "a", "duration": 8, "video_urls": [MP4], "ratio": "16:9"}),
    ("r2", {"prompt": "a", "duration": "auto", "resolution": "4k"}),
    ("r3", {"prompt": "a", "reference_image_urls": [PNG] * 9}),
    ("r4", {"prompt": "a", "image_urls": [PNG], "duration": 0}),
    ("r5", {"prompt": "@Image7", "image_urls": [PNG] * 9, "audio_urls": [WAV] * 3}),
    ("r6", {"prompt": "a", "reference_image_urls": [PNG] * 3}),
    ("image-upscale", {"image_url": PNG, "model": "wonder", "creativity": 3}),
    ("video-upscale", {"video_url": MP4, "noise": 0.5}),
    ("keyframes", {"images": [PNG] * 5, "transition_durations_s": [5] * 4}),
    ("region-replace", {"video": MP4, "prompt": "a", "modify_region_roi": "sky"}),
    ("text-to-video", {"prompt": "a", "duration": 5, "audio": "native"}),
    ("compose-video", {"tracks": tracks(1)}),
    ("compose-video", {"tracks": tracks(8)}),
]


def microseconds(call: Callable[[], object]) -> float:
    started = time.perf_counter()
    for _ in range(CALLS):
        call()
    return 1e6 * (time.perf_counter() - started) / CALLS


def measured(kind: str, body: dict[str, Any]) -> tuple[float, float, float]:
    function = Catalog.default().function(kind)
    calls: tuple[Callable[[], object], ...] = (
        lambda: function.declaration.model_validate(body),
        lambda: function.check(body),
        lambda: function.estimate(body),
    )
    assert function.check(body) == []
    rounds = [[microseconds(call) for call in calls] for _ in range(ROUNDS)]
    plain, check, estimate = (
        statistics.median(each) for each in zip(*rounds, strict=True)
    )
    return plain, check, estimate


def main() -> int:
    """Measure in turn, print the table, and return the exit status."""
    print(f"medians of {ROUNDS} rounds, pydantic {metadata.version('pydantic')}")
    print(f"  {'':16} {'plain':>8} {'check':>8} {'estimate':>9}")
    rows = []
    for kind, body in BODIES:
        plain, check, estimate = measured(kind, body)
        rows.append((plain, check, estimate))
        print(f"  {kind:16} {plain:5.1f} us {check:5.1f} us {estimate:6.1f} us")
    check_us = statistics.median(check for _, check, _ in rows)
    estimate_us = statistics.median(estimate for _, _, estimate in rows)
    check_ratio = statistics.median(check / plain for plain, check, _ in rows)
    estimate_ratio = statistics.median(estimate / plain for plain, _, estimate in rows)
    print(f"  check: {check_us:.1f} us, {check_ratio:.2f} of plain")
    print(f"  estimate: {estimate_us:.1f} us, {estimate_ratio:.2f} of plain")
    held = check_ratio <= CHECK_LIMIT and check_us <= CHECK_LIMIT_US
    return 0 if held and _quick(estimate_ratio, estimate_us) else 1


def _quick(ratio: float, us: float) -> bool:
    return ratio <= ESTIMATE_LIMIT and us <= ESTIMATE_LIMIT_US


if __name__ == "__main__":
    raise SystemExit(main())
