"""Scorers on clips with known values."""

from __future__ import annotations

import math
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image, ImageFilter

from mediakit.errors import InputError
from mediakit.media.samples import sampled_lumas
from mediakit.sweep import scorers
from mediakit.sweep.scorer_identity import identity_of
from tests.sweep.clips import flat, noise, tone, write_clip, write_sound

ALL = (
    scorers.sharpness,
    scorers.motion,
    scorers.black_frames,
    scorers.frozen_frames,
    scorers.flicker,
    scorers.loudness,
    scorers.clipping,
    scorers.perceptual_hash,
)


def picture(path: Path, grey: np.ndarray, blur_px: float = 0) -> Path:
    image = Image.fromarray(grey)
    image.filter(ImageFilter.GaussianBlur(blur_px)).save(path)
    return path


def hash_of(path: Path) -> int:
    numbers = scorers.perceptual_hash(path)
    return int(numbers["dhash_high"]) << 32 | int(numbers["dhash_low"])


def bits_between(one: int, other: int) -> int:
    return (one ^ other).bit_count()


def test_a_black_clip_is_all_black_and_all_frozen(tmp_path: Path) -> None:
    clip = write_clip(tmp_path / "black.mp4", [flat(0)] * 8)

    assert scorers.black_frames(clip) == {"black_frames": 1}
    assert scorers.frozen_frames(clip) == {"frozen_frames": 1}
    assert scorers.motion(clip)["motion"] == 0
    assert scorers.sharpness(clip)["sharpness"] == 0


def test_a_clip_that_is_black_for_a_quarter_says_so(tmp_path: Path) -> None:
    frames = [flat(0)] * 4 + [noise(seed) for seed in range(12)]
    clip = write_clip(tmp_path / "quarter.mp4", frames)

    assert scorers.black_frames(clip) == {"black_frames": 0.25}
    assert scorers.frozen_frames(clip)["frozen_frames"] == pytest.approx(3 / 15)


def test_a_frozen_clip_is_not_black_and_does_not_move(tmp_path: Path) -> None:
    clip = write_clip(tmp_path / "frozen.mp4", [noise(1, cell_px=8)] * 16, crf=28)

    assert scorers.frozen_frames(clip) == {"frozen_frames": 1}
    assert scorers.black_frames(clip) == {"black_frames": 0}
    assert scorers.motion(clip)["motion"] < scorers.FROZEN_CHANGE


def test_independent_noise_moves_by_a_third_of_the_range(tmp_path: Path) -> None:
    clip = write_clip(tmp_path / "noise.mp4", [noise(seed) for seed in range(8)], crf=1)

    # The mean distance of two even draws from 0 to 1.
    assert scorers.motion(clip)["motion"] == pytest.approx(1 / 3, abs=0.02)
    assert scorers.frozen_frames(clip) == {"frozen_frames": 0}


def test_black_and_white_in_turn_flicker_as_much_as_can_be(tmp_path: Path) -> None:
    clip = write_clip(tmp_path / "strobe.mp4", [flat(0), flat(255)] * 4)

    assert scorers.flicker(clip)["flicker"] == pytest.approx(1, abs=0.01)
    assert scorers.motion(clip)["motion"] == pytest.approx(1, abs=0.01)


def test_an_even_fade_does_not_flicker(tmp_path: Path) -> None:
    clip = write_clip(
        tmp_path / "fade.mp4", [flat(level) for level in range(0, 250, 8)]
    )

    assert scorers.flicker(clip)["flicker"] < 0.005
    assert scorers.frozen_frames(clip) == {"frozen_frames": 0}


def test_the_laplacian_of_a_checkerboard_is_known(tmp_path: Path) -> None:
    board = np.indices((32, 32)).sum(axis=0) % 2 * 10
    path = picture(tmp_path / "board.png", board.astype(np.uint8))

    # Every pixel differs by 10 from its four neighbours: plus or minus 40.
    assert scorers.sharpness(path)["sharpness"] == pytest.approx(1600)


def test_sharpness_is_measured_at_one_size(tmp_path: Path) -> None:
    grey = noise(3, 640, cell_px=8)
    large = grey.repeat(2, axis=0).repeat(2, axis=1)
    one = scorers.sharpness(picture(tmp_path / "small.png", grey))["sharpness"]
    other = scorers.sharpness(picture(tmp_path / "large.png", large))["sharpness"]

    assert one == pytest.approx(other)


def test_a_sine_of_half_the_scale_is_nine_decibels_below_it(tmp_path: Path) -> None:
    path = write_sound(tmp_path / "tone.wav", tone(0.5))

    expected = 20 * math.log10(0.5 / math.sqrt(2))
    assert scorers.loudness(path)["loudness_dbfs"] == pytest.approx(expected, abs=0.01)
    assert scorers.clipping(path) == {"clipping": 0}


def test_a_clipped_sine_is_at_full_scale_for_two_thirds(tmp_path: Path) -> None:
    path = write_sound(tmp_path / "clipped.wav", np.clip(tone(2.0), -1, 1))

    # |sin| is above a half for two thirds of a turn.
    assert scorers.clipping(path)["clipping"] == pytest.approx(2 / 3, abs=0.001)


def test_values_that_a_file_does_not_have_are_unknown(tmp_path: Path) -> None:
    clip = write_clip(tmp_path / "silent.mp4", [flat(9)] * 8)
    still = picture(tmp_path / "still.png", noise(1))
    sound = write_sound(tmp_path / "sound.wav", tone(0.5))

    unknown = [
        scorers.loudness(clip)["loudness_dbfs"],
        scorers.clipping(still)["clipping"],
        scorers.motion(still)["motion"],
        scorers.flicker(still)["flicker"],
        scorers.sharpness(sound)["sharpness"],
        scorers.perceptual_hash(sound)["dhash_high"],
    ]
    assert all(map(math.isnan, unknown))


def test_a_clip_that_was_encoded_again_looks_the_same(tmp_path: Path) -> None:
    frames = [noise(5, cell_px=8)] * 8
    doubled = [frame.repeat(2, axis=0).repeat(2, axis=1) for frame in frames]
    one = hash_of(write_clip(tmp_path / "one.mp4", frames, crf=12))
    again = hash_of(write_clip(tmp_path / "again.mp4", doubled, crf=34))
    other = hash_of(write_clip(tmp_path / "other.mp4", [noise(6, cell_px=8)] * 8))

    assert bits_between(one, again) <= scorers.NEAR_BITS
    assert bits_between(one, other) > 16


def test_a_ramp_has_the_hash_that_is_known(tmp_path: Path) -> None:
    rising = np.tile(np.arange(0, 252, 4, dtype=np.uint8), (63, 1))

    assert hash_of(picture(tmp_path / "rising.png", rising)) == 2**64 - 1
    assert hash_of(picture(tmp_path / "falling.png", rising[:, ::-1].copy())) == 0


def test_near_duplicates_are_grouped_in_the_order_given() -> None:
    # The third is as far from the first as the second allows, and "none" has no hash.
    hashes = {"a": 0, "b": 2**64 - 1, "none": None, "c": 0xFC0, "d": 2**63 - 1, "e": 63}
    frame = pd.DataFrame(
        {
            "job_id": list(hashes),
            "dhash_high": [h if h is None else float(h >> 32) for h in hashes.values()],
            "dhash_low": [
                h if h is None else float(h & 0xFFFF_FFFF) for h in hashes.values()
            ],
        }
    )

    assert scorers.near_duplicates(frame) == [["a", "c", "e"], ["b", "d"]]
    assert scorers.near_duplicates(frame.head(0)) == []
    with pytest.raises(InputError, match="a frame without dhash_high, dhash_low"):
        scorers.near_duplicates(frame[["job_id"]])


def test_quality_is_all_the_others_at_once(tmp_path: Path) -> None:
    frames = [noise(seed) for seed in range(8)]
    clip = write_clip(tmp_path / "clip.mp4", frames, sound=tone(0.3))
    alone: dict[str, float] = {}
    for scorer in ALL:
        alone |= scorer(clip)

    assert scorers.quality(clip) == alone


def test_a_long_clip_is_sampled_by_seeking_and_gives_the_same_frames(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frames = [flat(level) for level in range(80, 160)]
    clip = write_clip(tmp_path / "long.mp4", frames, fps=2)
    sought = sampled_lumas(clip, 16)
    monkeypatch.setattr("mediakit.media.samples.SHORT_S", 1000.0)
    passed = sampled_lumas(clip, 16)

    assert len(sought) == len(passed) == 16
    assert [int(a.mean()) for a in sought] == [int(b.mean()) for b in passed]


@pytest.mark.parametrize("scorer", [*ALL, scorers.quality], ids=lambda s: s.__name__)
def test_a_scorer_travels_to_other_processes_and_its_scores_are_stored(scorer) -> None:
    assert pickle.loads(pickle.dumps(scorer)) is scorer
    assert identity_of(scorer)[1] is not None


def test_a_file_that_is_not_media_is_rejected(tmp_path: Path) -> None:
    playlist = tmp_path / "list.mp4"
    playlist.write_text("#EXTM3U\n#EXTINF:1,\nother.ts\n")

    with pytest.raises((OSError, ValueError)):
        scorers.quality(playlist)
