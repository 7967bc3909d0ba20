"""Differences in scores, compared with scipy and with simulated sweeps without any."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

import mediakit as mk
from mediakit.errors import InputError
from mediakit.sweep.agreement import agreement
from mediakit.sweep.comparison import compare, compare_sweeps
from tests.support.rows import assert_each
from tests.sweep.rated_sweeps import PROMPTS, cell, rated, results, scored, styles

LEVELS: list[list[float]] = [
    [0.0, 1.0],
    [0.0, 100.0],
    [0.2, 0.9],
    [n / 2 for n in range(2, 11)],
    [1.0, 2.0, 3.0, 4.0, 5.0],
]
DTYPES: list[tuple[str, list[float]]] = [
    *(("float64", levels) for levels in LEVELS),
    ("Float32", [1.0, 5.0]),
    ("int64", [1, 5]),
    ("Int64", [0, 100]),
    ("bool", [False, True]),
    ("boolean", [False, True]),
    ("object", [False, True]),
    ("object", [1, 5]),
    ("category", [False, True]),
    ("category", [1, 5]),
]


@pytest.mark.parametrize(("dtype", "levels"), DTYPES, ids=str)
def test_two_equal_differences_are_not_taken_as_certain(
    dtype: str, levels: list[float]
) -> None:
    low, high = levels[0], levels[-1]
    two = compare(scored(2, dtype, film=[low] * 2, oil=[high] * 2), "style", "score")
    assert two.frame["verdict"].tolist() == ["unknown"]
    assert two.frame[["low", "high", "p"]].isna().all(axis=None)
    assert "2 are too few to tell" in two.text

    four = compare(scored(4, dtype, film=[low] * 4, oil=[high] * 4), "style", "score")
    row: Any = four.frame.iloc[0]
    assert row["p"] > 1e-4
    assert row["low"] < row["difference"] < row["high"]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@given(
    st.lists(
        st.tuples(st.sampled_from([0.1, 0.25, 0.7, 1.3]), st.sampled_from([0.3, 0.3])),
        min_size=2,
        max_size=8,
    )
)
def test_every_interval_has_a_width(
    dtype: str, drawn: list[tuple[float, float]]
) -> None:
    film = [value for value, _ in drawn]
    oil = [value + more for value, more in drawn]
    frame = scored(len(drawn), dtype, film=film, oil=oil)
    row: Any = compare(frame, "style", "score").frame.iloc[0]
    assert math.isnan(row["low"]) or row["high"] - row["low"] > 0.001
    assert len(drawn) < 4 or row["p"] > 0


MEASURED: dict[str, Any] = {  # without a common step, as measurements are
    "ink": [2.312, 2.745, 1.981, 3.057, 2.663, 2.129],
    "oil": [2.923, 2.814, 2.656, 3.611, 2.602, 2.957],
    "film": [2.411, 2.613, 2.117, 2.933, 2.741, 2.257],
}


@pytest.mark.parametrize("pairs", [4, 5, 6])
def test_a_paired_test_agrees_with_scipy(pairs: int) -> None:
    ink, oil = MEASURED["ink"][:pairs], MEASURED["oil"][:pairs]
    row: Any = compare(scored(pairs, ink=ink, oil=oil), "style", "score").frame.iloc[0]
    test = scipy.stats.ttest_rel(oil, ink)
    low, high = test.confidence_interval(0.95)
    assert row["deviation"] == pytest.approx(np.subtract(oil, ink).std(ddof=1))
    numbers = [row["p"], row["low"], row["high"]]
    assert numbers == pytest.approx([test.pvalue, low, high], abs=1e-6)


def test_p_values_of_several_comparisons_are_corrected_by_holms_method() -> None:
    frame = compare(scored(6, **MEASURED), "style", "score").frame
    twos = list(zip(frame["first"], frame["second"], strict=True))
    raw = [scipy.stats.ttest_rel(MEASURED[b], MEASURED[a]).pvalue for a, b in twos]
    expected: list[float] = [0.0] * 3
    largest = 0.0
    for steps, place in zip((3, 2, 1), np.argsort(raw), strict=True):
        largest = max(largest, min(1.0, steps * raw[place]))
        expected[place] = largest
    assert frame["p"].tolist() == pytest.approx(expected, abs=1e-6)
    # The intervals are as wide: an end is at zero where the corrected p is 5%.
    is_off = (frame["low"] > 0) | (frame["high"] < 0)
    assert is_off.tolist() == (frame["verdict"] == "exceeds").tolist()


@given(st.integers(0, 10_000), st.integers(2, 5), st.integers(4, 8))
def test_an_interval_is_off_zero_exactly_where_the_verdict_is_exceeds(
    seed: int, values: int, prompts: int
) -> None:
    random = np.random.default_rng(seed)
    effects = random.normal(0, 1, values)
    scores = random.normal(effects[:, None], 0.5, (values, prompts))
    named = {f"s{n}": row.tolist() for n, row in enumerate(scores)}
    frame = compare(scored(prompts, **named), "style", "score").frame
    is_off = (frame["low"] > 0) | (frame["high"] < 0)
    assert is_off.tolist() == (frame["verdict"] == "exceeds").tolist()
    assert (is_off == (frame["p"] < 0.05)).all()


@pytest.mark.parametrize("effect", [2.0, 1.0, 0.8, 0.5, 0.3, 0.2])
def test_the_pairs_that_are_still_needed_are_those_of_the_noncentral_t(
    effect: float,
) -> None:
    def power(pairs: int) -> float:
        limit, shift = scipy.stats.t.isf(0.025, pairs - 1), effect * math.sqrt(pairs)
        return float(scipy.stats.nct.sf(limit, pairs - 1, shift))

    # Four differences whose mean is the effect, and whose deviation is 1.
    deviations = np.array([-1.0, 1.0, -0.5, 0.5])
    scaled = effect + deviations / deviations.std(ddof=1)
    base = [0.013, 0.271, 0.589, 1.037]
    oil = [a + b for a, b in zip(base, scaled, strict=True)]
    row: Any = compare(scored(4, ink=base, oil=oil), "style", "score").frame.iloc[0]
    needed = next(n for n in range(4, 300) if power(n) >= 0.8)
    assert row["more_pairs"] is pd.NA or abs(row["more_pairs"] - (needed - 4)) <= 1


def test_untestable_differences_are_not_reported_as_chance() -> None:
    found = compare(scored(1, a=[1], b=[3], c=[5]), "style", "score")
    assert found.text.startswith(
        "None of the 3 differences between values of style can be tested: each is over "
        "fewer than 4 takes."
    )


def test_five_equal_ranks_do_not_make_an_agreement_certain() -> None:
    stars = [1, 2, 3, 4, 5]
    rows = [cell(1, prompt=f"p{n}", rating=n) for n in stars]
    frame = results(rows, "prompt")
    frame = frame.assign(judge=frame["rating"] * 1.0, mirror=frame["rating"] * -1.0)
    same, opposite = (agreement(frame, name) for name in ("judge", "mirror"))
    assert same.rank_correlation == pytest.approx(1)
    assert opposite.rank_correlation == pytest.approx(-1)
    assert same.low is not None
    assert same.low < 0.9
    assert same.high == 1
    assert opposite.low == -1
    assert opposite.high == pytest.approx(-same.low)


def test_any_frame_is_compared_as_the_results_of_one_sweep_are() -> None:
    one = scored(6, ink=[1, 2, 3, 4, 5, 6], oil=[2, 4, 4, 6, 6, 7])
    expected = compare(one, "style", "score")
    moved = one[["score", "job_id", "style", "prompt", "charge_micro_usd"]]
    found = mk.compare(moved, "style", "score", by="prompt")
    assert found.text == expected.text
    numbers = ["difference", "low", "high", "p", "pairs"]
    pd.testing.assert_frame_equal(found.frame[numbers], expected.frame[numbers])
    # One job in two versions is a cell of each.
    same = pd.concat([one.assign(version=v) for v in ("a", "b")], ignore_index=True)
    both = mk.compare(same, "version", "score", by=["prompt", "style"])
    assert (both.frame["pairs"][0], both.frame["difference"][0]) == (12, 0)


@pytest.mark.parametrize(
    ("frame", "axis", "by", "words"),
    [
        ([1, 2], "style", "prompt", "frame must be a frame of results"),
        (scored(2, a=[1, 2]), "colour", "prompt", "axis must be one of style, prompt"),
        (scored(2, a=[1, 2]), "style", "colour", "by must be one of"),
        (scored(2, a=[1, 2]).drop(columns=["style", "prompt"]), "style", None, "none"),
    ],
    ids=["no frame", "no axis", "no pairs", "no axes"],
)
def test_an_unknown_column_is_not_compared(
    frame: Any, axis: str, by: Any, words: str
) -> None:
    with pytest.raises(InputError, match=words):
        mk.compare(frame, axis, "score", by=by)


TAKES = [
    cell(1, style=style, take=take, rating=stars)
    for style, ratings in (("720p", (2, 3, 2, 3)), ("1080p", (4, 5, 4, 5)))
    for take, stars in enumerate(ratings, 1)
]
ZIPPED = [
    cell(1, style=style, prompt=f"a kite in {style}", take=take, rating=3)
    for style in ("ink", "oil", "chalk")
    for take in (1, 2)
]
# A column, a frame, the verdicts, and what the text begins with.
COMPARED: list[tuple[str, pd.DataFrame, list[str], str]] = [
    (
        "rating",
        styles("rating", PROMPTS[:20], ink=[2, 3] * 10, oil=[3, 4] * 10),
        ["exceeds"],
        "Over 20 prompts, oil is 1.0 stars higher than ink (0.78 stars to 1.2 stars): "
        "more than chance explains.",
    ),
    (
        "rating",
        styles("rating", PROMPTS[:4], ink=[3, 4, 2, 4], oil=[4, 4, 2, 5]),
        ["within"],
        "Over 4 prompts, oil is 0.5 stars higher than ink, possibly by chance. "
        "If the true difference is this large, about 11 more prompts would most likely "
        "settle it, for about $4.40. Testing again after adding some makes a false "
        "alarm up to twice as likely.",
    ),
    (
        "rating",
        styles("rating", PROMPTS[:4], ink=[1, 1, 1, 1], oil=[4, 3, 3, 1]),
        ["within"],
        "Over 4 prompts, oil is 1.8 stars higher than ink, possibly by chance. "
        "If the true difference is this large, about 3 more prompts would most likely",
    ),
    (
        "rating",
        results(TAKES, "style"),
        ["exceeds"],
        "Over 4 takes, 1080p is 2.0 stars higher than 720p",
    ),
    (
        "rating",
        styles("rating", PROMPTS[:1], ink=[2], oil=[5]),
        ["unknown"],
        "ink and oil differ by 3.0 stars in one pair, which says nothing about others",
    ),
    (
        "rating",
        results(ZIPPED, "style", "prompt"),
        ["unknown"] * 3,
        "The values of style cannot be compared: no cells with a rating share all "
        "other settings.",
    ),
    # Equal differences of whole stars vary at least as rounding does.
    (
        "rating",
        styles("rating", PROMPTS[:2], ink=[3, 3], oil=[4, 4]),
        ["unknown"],
        "Over 2 prompts, oil is 1.0 stars higher than ink, but 2 are too few to tell. "
        "If the true difference is this large, about 2 more prompts would most likely",
    ),
    (
        "runtime_s",
        styles("runtime_s", PROMPTS[:4], ink=[61, 62, 63, 64], oil=[91, 92, 94, 94]),
        ["exceeds"],
        "Over 4 prompts, oil is 30.2 s higher than ink",
    ),
    (
        "charge_micro_usd",
        styles("charge_micro_usd", PROMPTS[:4], ink=[10**5] * 4, oil=[250_000] * 4),
        ["exceeds"],
        "Over 4 prompts, oil is $0.15 higher than ink",
    ),
]


def test_a_comparison_says_what_its_pairs_show() -> None:
    def check(row: tuple[str, pd.DataFrame, list[str], str]) -> None:
        value, frame, verdicts, text = row
        found: Any = compare(frame, "style", value)
        assert found.frame["verdict"].tolist() == verdicts
        assert found.text.startswith(text)
        is_told = found.frame["verdict"] == "exceeds"
        more = found.frame.loc[is_told, ["more_pairs", "more_micro_usd"]]
        assert more.isna().all(axis=None)
        is_unknown = found.frame["verdict"] == "unknown"
        assert (found.frame.loc[is_unknown, "pairs"] < 4).all()
        assert repr(found).split() == found.text.split()
        assert max(map(len, repr(found).splitlines())) <= 88

    assert_each(COMPARED, check)


def test_two_sweeps_are_compared_over_what_both_have() -> None:
    def version(prompt: str, stars: int) -> pd.DataFrame:
        rows = [
            cell(1, prompt=prompt, subject=f"s{n}", rating=stars + n % 2)
            for n in range(8)
        ]
        return results(rows, "prompt", "subject")

    first, second = version("a {subject}", 2), version("one {subject}, close", 3)
    found: Any = compare_sweeps(first, second, by="subject")

    assert found.frame.loc[0, ["first", "second"]].tolist() == ["before", "after"]
    assert (found.frame["pairs"][0], found.frame["difference"][0]) == (8, 1)
    assert "after is 1.0 stars higher than before" in found.text
    same: Any = compare_sweeps(first, first, by="subject")
    assert same.text == "Over 8 values of subject, before and after are equal."
    with pytest.raises(InputError, match="colour"):
        compare_sweeps(first, second, by="colour")


def test_the_text_says_how_many_more_pairs_would_decide() -> None:
    frame = styles(
        "rating",
        PROMPTS[:6],
        plain=[3, 4, 2, 4, 3, 3],
        steam=[5, 4, 4, 4, 5, 4],
        bar=[4, 2, 3, 3, 2, 2],
    )
    found: Any = compare(frame, "style")

    rows = found.frame.set_index(["first", "second"])
    doubtful = rows[rows["verdict"] == "within"]
    assert 0 < len(doubtful) < 3
    largest = doubtful.loc[doubtful["difference"].abs().idxmax()]
    assert f"about {largest['more_pairs']} more prompts would most" in found.text
    assert found.text.count("possibly by chance") == 1


def test_many_values_are_summed_up_and_the_largest_differences_named() -> None:
    some = compare(rated(2, better=0.8, values=6), "resolution")
    none = compare(rated(2, values=4), "resolution")

    told = int((some.frame["verdict"] == "exceeds").sum())
    assert told > 5
    assert some.text.startswith(f"{told} of the 15 differences between values")
    assert "r5 is" in some.text.split(". ")[1]

    assert none.text.startswith("None of the 6 differences between values of")


def test_cells_without_a_value_and_repairs_are_left_out_and_counted() -> None:
    frame = rated(3)
    frame.loc[[0, 7], "rating"] = pd.NA
    fix = frame.iloc[[1]].assign(
        parent_job_id=frame["job_id"][1], job_id="fix", rating=5
    )
    found: Any = compare(pd.concat([frame, fix], ignore_index=True), "resolution")

    assert found.text.endswith("2 cells without a rating are left out.")
    assert found.frame["pairs"].tolist() == [18]
    pd.testing.assert_frame_equal(found.frame, compare(frame, "resolution").frame)


def test_an_empty_comparison_has_its_dtypes_and_says_so() -> None:
    frame = rated(1)
    found: Any = compare(frame[frame["resolution"] == "r0"], "resolution")
    whole = compare(frame, "resolution")

    assert len(found.frame) == 0
    assert "fewer than two values of resolution have a rating" in found.text
    pd.testing.assert_series_equal(found.frame.dtypes, whole.frame.dtypes)


@pytest.mark.parametrize(
    ("axis", "value", "words"),
    [
        ("colour", "rating", "one of resolution, prompt"),
        ("take", "rating", "one of resolution, prompt"),
        ("resolution", "sharpness", "a column of numbers"),
        ("resolution", "status", "a column of numbers"),
        ("prompt", "rating", "prompt with 101 values"),
    ],
)
def test_invalid_arguments_of_a_comparison_are_rejected(
    axis: str, value: str, words: str
) -> None:
    with pytest.raises(InputError, match=words):
        compare(rated(1, prompts=101), axis, value)
