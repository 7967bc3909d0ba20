"""Costs of keepers and Pareto fronts, held against truths that are known."""

from __future__ import annotations

from itertools import product
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mediakit.errors import InputError
from mediakit.sweep.costs import cost_of_keeper, pareto
from tests.support.soak import trials
from tests.sweep.rated_sweeps import cell, results

NO_FLOAT_HOLDS_IT = 2**53 + 1


# -- the cost of a keeper -------------------------------------------------------------


def test_what_a_keeper_cost_is_all_that_was_spent_for_each_that_was_kept() -> None:
    rows = [
        cell(340_000, resolution="720p", keep=True),
        cell(340_000, resolution="720p", keep=False),
        cell(0, resolution="720p", status="failed"),
        cell(750_000, resolution="1080p"),
        cell(None, resolution="1080p", status="running"),
        cell(None, resolution="1080p", status="unsent", job_id=None),
    ]
    found: Any = cost_of_keeper(results(rows, "resolution"), by="resolution")

    assert found["resolution"].tolist() == ["720p", "1080p"]
    assert found["cells"].tolist() == [3, 2]
    assert found["unsettled"].tolist() == [0, 1]
    assert found["charged_micro_usd"].tolist() == [680_000, 750_000]
    assert found["kept"].tolist() == [1, 0]
    assert found["cost_micro_usd_per_keeper"].tolist() == [680_000, pd.NA]
    assert found["high"].isna().all()
    whole = cost_of_keeper(results(rows, "resolution"))
    assert whole["charged_micro_usd"].tolist() == [1_430_000]
    assert whole["cost_micro_usd_per_keeper"].tolist() == [1_430_000]


def test_repairs_belong_to_the_cell_that_they_repair_however_deep() -> None:
    rows = [
        cell(340_000, prompt="a", job_id="first"),
        cell(30_000, prompt=None, job_id="fix", parent_job_id="first", keep=False),
        cell(30_000, prompt=None, job_id="again", parent_job_id="fix", keep=True),
        cell(340_000, prompt="b", job_id="second", keep=True),
        cell(70_000, prompt="b", job_id="third", parent_job_id="not here"),
    ]
    rows = [rows[2], *rows[:2], *rows[3:]]  # a child may come before its parent
    found: Any = cost_of_keeper(results(rows, "prompt"), by="prompt").set_index(
        "prompt"
    )

    assert found.loc["a", "charged_micro_usd"] == 400_000
    assert found.loc["a", ["cells", "kept"]].tolist() == [1, 1]
    assert found.loc["b", "charged_micro_usd"] == 410_000
    assert found.loc["b", ["cells", "kept"]].tolist() == [2, 1]
    assert len(found) == 2


def test_a_job_in_two_frames_put_together_is_counted_once() -> None:
    frame = results([cell(340_000, keep=True), cell(340_000)])
    found: Any = cost_of_keeper(pd.concat([frame, frame]))

    assert found["charged_micro_usd"].tolist() == [680_000]
    assert found["kept"].tolist() == [1]


def test_money_is_exact_beyond_what_a_float_can_hold() -> None:
    found: Any = cost_of_keeper(results([cell(NO_FLOAT_HOLDS_IT, keep=True), cell(0)]))

    assert found["charged_micro_usd"].tolist() == [NO_FLOAT_HOLDS_IT]
    assert found["cost_micro_usd_per_keeper"].tolist() == [NO_FLOAT_HOLDS_IT]
    rows = [cell(NO_FLOAT_HOLDS_IT, keep=True) for _ in range(8)]
    same: Any = cost_of_keeper(results(rows))
    assert same.loc[0, ["low", "high"]].tolist() == [NO_FLOAT_HOLDS_IT] * 2


@settings(max_examples=trials(8, soak=40))
@given(
    st.lists(
        st.tuples(
            st.none() | st.integers(0, 10**9),
            st.none() | st.booleans(),
            st.sampled_from("xyz"),
            st.integers(0, 20),
        ),
        max_size=25,
    )
)
def test_the_parts_of_every_axis_sum_to_the_whole(
    drawn: list[tuple[int | None, bool | None, str, int]],
) -> None:
    rows = [
        cell(charge, keep=keep, prompt=prompt, parent_job_id=f"media_{parent}")
        if parent < number
        else cell(charge, keep=keep, prompt=prompt)
        for number, (charge, keep, prompt, parent) in enumerate(drawn)
    ]
    frame = results(rows, "prompt")
    before = frame.copy()
    whole, parts = cost_of_keeper(frame), cost_of_keeper(frame, by="prompt")

    for name in ("cells", "unsettled", "charged_micro_usd", "kept"):
        assert whole[name].sum() == parts[name].sum()
    assert whole["charged_micro_usd"][0] == sum(row[0] or 0 for row in drawn)
    pd.testing.assert_frame_equal(frame, before)
    pd.testing.assert_series_equal(whole.dtypes, parts.dtypes.drop("prompt"))
    known = parts.dropna(subset=["low", "high"])
    assert (known["low"] <= known["high"]).all()


def test_one_keeper_in_few_cells_has_no_upper_end_and_the_seed_decides() -> None:
    frame = results([cell(340_000, keep=n == 0) for n in range(8)])
    found: Any = cost_of_keeper(frame, seed=1)

    assert found["high"].isna().all()
    assert found["low"][0] < found["cost_micro_usd_per_keeper"][0] == 2_720_000
    pd.testing.assert_frame_equal(found, cost_of_keeper(frame, seed=1))


def test_several_axes_give_a_row_for_each_of_their_combinations() -> None:
    both = product(["720p", "1080p"], ["a", "b", "c"], [1, 2])
    rows = [cell(1, resolution=r, prompt=p, take=t) for r, p, t in both]
    found: Any = cost_of_keeper(
        results(rows, "resolution", "prompt"), by=["prompt", "resolution"]
    )

    assert list(found.columns[:2]) == ["prompt", "resolution"]
    assert found["cells"].tolist() == [2] * 6
    with pytest.raises(InputError, match="one of resolution, prompt, take"):
        cost_of_keeper(results(rows, "resolution", "prompt"), by="colour")


# -- rating against charge ------------------------------------------------------------


def test_only_undominated_values_are_on_the_frontier() -> None:
    points: dict[str, Any] = {
        "cheap": (100, [2, 3]),
        "beaten": (300, [2, 2]),
        "dear": (900, [5, 5]),
        "equal": (900, [5, 5]),
        "unrated": (50, [None, None]),
    }
    rows = [
        cell(charge, prompt=name, rating=rating, take=take)
        for name, (charge, ratings) in points.items()
        for take, rating in enumerate(ratings, 1)
    ]
    rows.append(cell(None, prompt="unsettled", rating=5))
    found: Any = pareto(results(rows, "prompt")).set_index("prompt")

    assert found["on_front"].to_dict() == {
        "cheap": True,
        "beaten": False,
        "dear": True,
        "equal": True,
        "unrated": False,
        "unsettled": False,
    }
    assert found.loc["cheap", "rating"] == 2.5
    assert found.loc["cheap", "charge_micro_usd"] == 100
    assert found.loc["unsettled", "charge_micro_usd"] is pd.NA
    assert found.loc["unrated", "rated"] == 0


def test_a_mean_charge_has_the_repairs_and_leaves_failed_cells_out() -> None:
    rows = [
        cell(300, resolution="720p", prompt="a", job_id="one", rating=2),
        cell(30, resolution=None, prompt=None, parent_job_id="one", rating=4),
        cell(301, resolution="720p", prompt="b", rating=5),
        cell(0, resolution="720p", prompt="c", status="failed"),
    ]
    frame = results(rows, "resolution", "prompt")
    [point] = pareto(frame, by="resolution").to_dict("records")

    assert point["charge_micro_usd"] == 316  # 631 / 2, rounded half up
    assert point["rating"] == 4.5
    assert point["cells"] == 2
    assert len(pareto(frame)) == 2


@given(
    st.lists(st.tuples(st.integers(0, 5), st.none() | st.integers(1, 5)), max_size=12)
)
def test_the_frontier_has_all_rated_values_that_no_other_dominates(
    drawn: list[tuple[int, int | None]],
) -> None:
    rows = [
        cell(charge, prompt=f"p{n}", rating=rating)
        for n, (charge, rating) in enumerate(drawn)
    ]
    found: Any = pareto(results(rows, "prompt"), by="prompt")

    for on_front, (charge, rating) in zip(found["on_front"], drawn, strict=True):
        beaten = any(
            r is not None
            and rating is not None
            and (r >= rating and c <= charge)
            and (r, c) != (rating, charge)
            for c, r in drawn
        )
        assert on_front == (rating is not None and not beaten)
