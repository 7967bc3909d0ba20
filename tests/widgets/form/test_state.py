"""The state of a form, without widgets: rules, problems, price and readiness."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mediakit.api_models import Balance
from mediakit.catalog import Catalog, Function
from mediakit.client import BudgetState
from mediakit.errors import InputError
from mediakit.estimates import EstimateKind, Line, per_second
from mediakit.media_limits import MediaInfo
from mediakit.rules import Problem
from mediakit.schema import InputFacts, MediaRequest
from mediakit.widgets.controls.media_inspection import Inspection, MediaKey
from mediakit.widgets.form.funds import Affordability, Funds
from mediakit.widgets.form.state import FormState
from tests.spec import Case, accepted
from tests.support.rows import assert_each

CATALOG = Catalog.default()
A_PICTURE = "https://a.test/1.png"
CLIP = MediaInfo("video", "video/mp4", 1_000, duration_s=7.5)


def touched_in(state: FormState, name: str) -> FormState:
    """Return the state in which a field shows its problems."""
    return replace(state, touched=state.touched | {name})


class Unpriced(MediaRequest, kind="unpriced", function="unpriced", spec="4.11"):
    """A function without a known rate."""

    prompt: str


class Open(MediaRequest, kind="open", function="open", spec="4.11"):
    """A function whose price has no upper end."""

    prompt: str

    def lines(self, facts: InputFacts) -> Iterator[Line]:
        """Price one second and whatever may follow."""
        yield per_second("output", 1_000, None, 2_000_000, EstimateKind.UPPER_BOUND)


def start(kind: str, **values: object) -> FormState:
    return FormState.start(CATALOG.function(kind), values)


def with_usd(state: FormState, usd: int, held_micro_usd: int = 0) -> FormState:
    balance = Balance(balance_micro_usd=usd * 1_000_000)
    return state.with_balance(Funds(balance, held_micro_usd, held_jobs=2))


def accepted_bodies(function: Function) -> list[Case]:
    # In a form, an empty box is nothing, also where the service takes an empty text.
    cases = [
        Case(c.kind, {k: v for k, v in c.body.items() if v not in ("", [])})
        for c in accepted(function.kind)
    ]
    required = [name for name, spec in function.fields.items() if spec.required]
    return [case for case in cases if all(name in case.body for name in required)]


@pytest.mark.parametrize("function", CATALOG.functions, ids=lambda f: f.kind)
def test_a_new_form_holds_the_default_of_every_field(function: Function) -> None:
    state = FormState.start(function)

    assert state.values == {n: spec.default for n, spec in function.fields.items()}
    assert state.touched == frozenset()


@pytest.mark.parametrize("function", CATALOG.functions, ids=lambda f: f.kind)
def test_an_acceptable_body_goes_into_a_form_and_comes_out_the_same(
    function: Function,
) -> None:
    def check(case: Case) -> None:
        state = FormState.start(function, case.body)
        assert state.problems == ()
        assert state.submit_reason is None
        canonical = function.canonical_body
        assert canonical(state.body()) == canonical(case.body)

    assert_each(accepted_bodies(function), check)


def test_an_unknown_field_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(InputError, match="did you mean prompt") as caught:
        start("text-to-video", promt="a kite")
    assert caught.value.field == "promt"


def test_nothing_is_sent_for_null_empty_text_and_empty_lists() -> None:
    state = start("keyframes", images=[], prompt="", seed=None)

    assert state.body() == {
        "resolution": "1080p",
        "transition_duration_s": 5,
        "loop": False,
    }


def test_zero_false_and_empty_texts_of_a_list_are_sent() -> None:
    state = start("keyframes", images=[A_PICTURE] * 2, seed=0, transition_prompts=[""])

    assert state.body()["seed"] == 0
    assert state.body()["loop"] is False
    assert state.body()["transition_prompts"] == [""]


def test_a_field_that_does_not_apply_is_not_sent_and_keeps_its_value() -> None:
    wonder = start("image-upscale", image_url=A_PICTURE, model="wonder", creativity=7)
    standard = wonder.with_value("model", "cgi")

    assert "model is redefine" in standard.disabled["creativity"]
    assert "creativity" not in standard.body()
    assert standard.submit_reason is None
    assert standard.with_value("model", "wonder").body()["creativity"] == 7


def test_required_fields_follow_from_the_declaration_and_the_active_rules() -> None:
    wonder = start("image-upscale", model="wonder", detail=True, texture=1)

    assert start("image-upscale").required == {"image_url"}
    assert wonder.required == {"image_url", "detail_strength"}
    # The value of a field that is switched off requires nothing.
    assert wonder.with_value("model", "cgi").required == {"image_url"}


def test_an_unfilled_slot_of_a_prompt_is_a_warning_and_can_be_sent() -> None:
    state = start("text-to-video").with_value("prompt", "a {animal} in {light}, {{x}}")

    (warning,) = state.warnings_of("prompt")
    assert warning.predicate == (
        "contains {animal} and {light}, which only a sweep fills"
    )
    assert state.submit_reason is None
    said = "{animal} and {light} will be sent as written. A sweep fills in slots."
    assert state.slots_text == said
    filled = state.with_value("prompt", "a fox")
    assert (filled.warnings, filled.slots_text) == ((), "")


def test_a_problem_is_shown_once_its_field_was_touched_and_never_before() -> None:
    untouched = start("text-to-video", duration=99)

    assert [p.field for p in untouched.problems] == ["prompt", "duration"]
    assert untouched.problems_of("duration") == ()
    touched = touched_in(untouched, "duration")
    assert [p.got for p in touched.problems_of("duration")] == [99]
    assert touched.problems_of("prompt") == ()
    cleared = start("text-to-video").with_value("prompt", None)
    assert [p.field for p in cleared.problems_of("prompt")] == ["prompt"]


@pytest.mark.parametrize(
    ("kind", "values", "reason"),
    [
        ("text-to-video", {}, "Enter a prompt."),
        ("keyframes", {}, "Choose images."),
        (
            "image-upscale",
            {"image_url": A_PICTURE, "model": "wonder", "detail": True},
            "Detail strength is required when detail is true.",
        ),
        (
            "text-to-video",
            {"prompt": "a", "duration": 99},
            "Duration must be a whole number from 3 to 15 seconds.",
        ),
        (
            "keyframes",
            {"images": [A_PICTURE]},
            "Loop must be true when there is a single image.",
        ),
        (
            "keyframes",
            {"images": [A_PICTURE] * 3, "transition_durations_s": [1]},
            "Duration of each transition must be a list of 2, one for each transition "
            "(got 1).",
        ),
    ],
)
def test_the_reason_why_it_cannot_be_sent_is_one_sentence(
    kind: str, values: dict[str, object], reason: str
) -> None:
    assert start(kind, **values).submit_reason == reason


@pytest.mark.parametrize(
    ("kind", "values", "gap"),
    [
        ("keyframes", {}, "Choose images to see the price."),
        ("r1", {}, "Choose a duration to see the price."),
        (
            "text-to-video",
            {"duration": 99},
            "Duration must be a whole number from 3 to 15 seconds.",
        ),
        (
            "keyframes",
            {"images": [A_PICTURE]},
            "Loop must be true when there is a single image.",
        ),
        ("text-to-video", {}, None),
    ],
)
def test_a_missing_price_names_the_fields_it_needs(
    kind: str, values: dict[str, object], gap: str | None
) -> None:
    state = start(kind, **values)

    assert state.estimate_gap == gap
    assert (state.estimate is None) is (gap is not None)


def test_one_mistake_is_explained_once() -> None:
    state = FormState.start(CATALOG.function("text-to-video"), {"prompt": "a"})
    wrong = state.with_value("duration", 99)

    assert wrong.estimate_gap == "Correct the duration to see the price."
    assert wrong.submit_hint == ""
    assert wrong.submit_reason is not None


def in_budget(state: FormState, left_micro_usd: int) -> FormState:
    """Return a state with $100, of which a budget allows less."""
    funds = Funds(
        Balance(balance_micro_usd=100_000_000),
        budget=BudgetState(left_micro_usd, spent_micro_usd=0, reserved_micro_usd=0),
    )
    return state.with_balance(funds)


CLIP_FROM_TEXT = start("text-to-video", prompt="a kite")
LONGER = CLIP_FROM_TEXT.with_value("duration", 8)
AUTO = start("r1", prompt="a kite", duration="auto")
NOMINAL = start("r1", prompt="a kite", duration=4, resolution="480p")  # $0.4494
WITHOUT_PRICE = FormState.start(Function("a/b/unpriced", Unpriced), {"prompt": "a"})
OPEN_END = FormState.start(Function("a/b/open", Open), {"prompt": "a"})
NO_UPPER_PRICE = "Its price is unknown, so your budget cannot be enforced."


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        (with_usd(CLIP_FROM_TEXT, 5), None),
        (with_usd(LONGER, 0), "This costs $0.544, but only $0.00 is left."),
        (with_usd(AUTO, 5), "This may cost up to $7.28028, but only $5.00 is left."),
        (
            with_usd(CLIP_FROM_TEXT, 1, held_micro_usd=680_000),
            "This costs $0.34, but only $0.32 is left; "
            "$0.68 is held for 2 jobs in progress.",
        ),
        (with_usd(OPEN_END, 5), None),
        (with_usd(OPEN_END, 1), "This costs at least $2.00, but only $1.00 is left."),
        (with_usd(WITHOUT_PRICE, 5), None),
        (in_budget(CLIP_FROM_TEXT, 500_000), None),
        (
            in_budget(LONGER, 500_000),
            "This costs $0.544, but only $0.50 of your budget is left.",
        ),
        (
            in_budget(AUTO, 500_000),
            "This may cost up to $10.92042, but only $0.50 of your budget is left.",
        ),
        (
            in_budget(NOMINAL, 500_000),
            "This may cost up to $0.6741, but only $0.50 of your budget is left.",
        ),
        (in_budget(AUTO, 200_000_000), None),
        (in_budget(WITHOUT_PRICE, 50_000_000), NO_UPPER_PRICE),
        (in_budget(OPEN_END, 50_000_000), NO_UPPER_PRICE),
        (replace(CLIP_FROM_TEXT, sending="Sending it."), "Sending it."),
    ],
)
def test_the_balance_is_compared_with_the_upper_end_of_the_price(
    state: FormState, reason: str | None
) -> None:
    assert state.submit_reason == reason


def test_an_insufficient_balance_says_when_it_was_read() -> None:
    read_at = datetime(2026, 3, 1, 12, 30, 5).astimezone()

    def reason(state: FormState) -> str:
        return str(
            state.with_balance(replace(state.funds, read_at=read_at)).submit_reason
        )

    assert reason(with_usd(LONGER, 0)).endswith("$0.00 is left (as of 12:30:05).")
    assert "was read" not in reason(in_budget(LONGER, 500_000))


def test_a_budget_is_known_without_the_service() -> None:
    budget = BudgetState(300_000, spent_micro_usd=0, reserved_micro_usd=0)
    funds = Funds(trouble="The service does not answer.", budget=budget)
    state = CLIP_FROM_TEXT.with_balance(funds)

    assert (
        state.submit_reason
        == "This costs $0.34, but only $0.30 of your budget is left."
    )
    assert state.caution == "The service does not answer."


@pytest.mark.parametrize(
    ("state", "caution"),
    [
        (CLIP_FROM_TEXT, "The balance is not known yet."),
        (
            CLIP_FROM_TEXT.with_balance(Funds(trouble="The service does not answer.")),
            "The service does not answer.",
        ),
        (with_usd(CLIP_FROM_TEXT, 1), None),
        (
            with_usd(WITHOUT_PRICE, 5),
            "You will be charged; the price isn't known in advance.",
        ),
        (with_usd(OPEN_END, 5), "The price has no known upper limit."),
    ],
)
def test_an_unknown_price_or_balance_is_reported_and_does_not_block_sending(
    state: FormState, caution: str | None
) -> None:
    assert state.caution == caution
    assert state.submit_reason is None
    assert caution is None or state.affordability.covered in (None, True)


@pytest.mark.parametrize(
    ("state", "text"),
    [
        (start("text-to-video", prompt="a", duration=15), "Generate · $1.02"),
        (start("text-to-video"), "Generate · $0.34"),  # its prompt is missing
        (start("r1", prompt="a", duration="auto"), "Generate · up to $7.28"),
        (FormState.start(Function("a/b/unpriced", Unpriced)), "Generate"),
        (FormState.start(Function("a/b/open", Open), {"prompt": "a"}), "Generate"),
    ],
)
def test_the_main_button_says_what_it_does_at_which_price(
    state: FormState, text: str
) -> None:
    assert state.generate_text == text
    submitted = state.with_submitted("media_1", state.body_digest)
    another = text.replace("Generate", "Another take")
    assert submitted.generate_text == another
    assert submitted.without_submitted("media_1").generate_text == text
    assert submitted.without_submitted("media_2").generate_text == another


def test_any_change_is_another_request_and_what_was_submitted_stays_submitted() -> None:
    first = start("text-to-video", prompt="a kite")
    state = first.with_submitted("media_1", first.body_digest)
    changed = state.with_value("prompt", "a kite in snow")
    assert not changed.is_another_take
    both = changed.with_submitted("media_2", changed.body_digest)
    assert both.is_another_take
    assert both.with_value("prompt", "a kite").is_another_take
    # Values that are not sent do not change the request.
    assert state.with_value("seed", None).is_another_take


def test_a_local_file_is_checked_before_it_is_sent() -> None:
    state = start("image-upscale", image_url="cat.png")
    key: MediaKey = ("image", "cat.png")

    assert state.media.unseen == (key,)
    assert state.submit_reason == "Checking cat.png."
    info = MediaInfo("image", "image/png", 9)
    seen = state.with_inspections({key: Inspection(info)})
    assert seen.submit_reason is None
    assert seen.body()["image_url"] == "cat.png"


def test_an_unsuitable_file_is_named_with_its_position() -> None:
    state = start("keyframes", images=[A_PICTURE, "notes.txt"])
    refused = Problem("", None, "notes.txt: it is no picture")
    key: MediaKey = ("image", "notes.txt")

    found = {key: Inspection(problem=refused)}
    state = touched_in(state.with_inspections(found), "images")
    assert [p.field for p in state.problems_of("images")] == ["images[1]"]
    assert state.submit_reason == "Image 2: notes.txt: it is no picture."


def test_the_length_of_a_local_clip_makes_the_price_exact() -> None:
    state = start(
        "r1",
        prompt="make it rain",
        duration="auto",
        omni_reference_task_type="edit",
        video_urls=["clip.mp4"],
    )
    seen = state.with_inspections({("video", "clip.mp4"): Inspection(CLIP)})

    assert state.estimate is not None
    assert seen.estimate is not None
    assert state.estimate.kind is EstimateKind.UPPER_BOUND
    assert seen.estimate.kind is EstimateKind.NOMINAL
    assert seen.estimate.low == seen.estimate.high == 2_177_280


LONG_CLIP = MediaInfo("video", "video/mp4", 1_000, 1280, 720, 31.2, 24.0)
GOOD_CLIP = MediaInfo("video", "video/mp4", 1_000, 1280, 720, 20.0, 24.0)
REMOTE = "https://a.test/clip.mp4"


def edited(clip: str) -> FormState:
    return start(
        "r1",
        prompt="make it rain",
        duration="auto",
        omni_reference_task_type="edit",
        video_urls=[clip],
    )


def test_a_file_beyond_a_limit_is_a_problem_at_its_place() -> None:
    state = start("r1", prompt="a", duration=5, video_urls=["a.mp4", "b.mp4"])
    found: dict[MediaKey, Inspection] = {
        ("video", "a.mp4"): Inspection(CLIP),
        ("video", "b.mp4"): Inspection(LONG_CLIP),
    }
    state = touched_in(state.with_inspections(found), "video_urls")

    assert [p.field for p in state.problems_of("video_urls")] == [
        "video_urls[1]",
        "video_urls",
    ]
    assert state.submit_reason == "Reference video 2 must be 2 to 30 s (got 31.2 s)."


def test_files_that_are_too_long_together_are_a_problem_of_the_field() -> None:
    state = start("r1", prompt="a", duration=5, video_urls=["a.mp4", "b.mp4"])
    good = Inspection(GOOD_CLIP)
    state = state.with_inspections({("video", "a.mp4"): good, ("video", "b.mp4"): good})

    assert state.submit_reason == (
        "Reference videos must be at most 30 s in total (got 40 s together)."
    )
    shorter = state.with_value("video_urls", ["a.mp4"])
    assert shorter.submit_reason is None


def test_a_likely_mistake_is_shown_beside_its_field_and_does_not_block_sending() -> (
    None
):
    state = start("r1", prompt="@Image2", duration=5, image_urls=[A_PICTURE])

    assert state.submit_reason is None
    assert state.problems_of("prompt") == state.warnings_of("prompt") == ()
    (warning,) = touched_in(state, "prompt").warnings_of("prompt")
    assert (warning.field, warning.got) == ("prompt", "@Image2")
    more = touched_in(state.with_value("image_urls", [A_PICTURE] * 2), "prompt")
    assert more.warnings_of("prompt") == ()


def test_a_length_behind_a_url_is_asked_for_where_the_price_depends_on_it() -> None:
    state = edited(REMOTE)
    key: MediaKey = ("video", REMOTE)

    assert state.media.unmeasured == (key,)
    assert state.submit_reason is None
    assert state.with_value("duration", 5).media.unmeasured == ()
    assert state.with_inspections({key: Inspection()}).media.unmeasured == ()
    seen = state.with_inspections({key: Inspection(CLIP)})
    assert seen.media.unmeasured == ()
    assert seen.estimate is not None
    assert seen.estimate.kind is EstimateKind.NOMINAL


def test_facts_about_a_clip_at_a_url_do_not_block_sending() -> None:
    key: MediaKey = ("video", REMOTE)
    state = edited(REMOTE).with_inspections({key: Inspection(LONG_CLIP)})

    assert state.problems == ()
    assert state.submit_reason is None
    (warning,) = touched_in(state, "video_urls").warnings_of("video_urls")
    assert warning.sentence == "video_urls[0] must be 2 to 30 s (got 31.2 s)"


@given(needed=st.integers(1, 10**9), left=st.integers(-(10**9), 10**12))
def test_the_count_of_requests_that_fit_is_exact(needed: int, left: int) -> None:
    affordability = Affordability(needed, left)

    count = affordability.count
    assert count is not None
    assert count * needed <= max(left, 0) < (count + 1) * needed
    assert affordability.covered is (count > 0)
    share = affordability.share
    assert share is not None
    assert (share > 1) is (not affordability.covered)


def test_a_free_request_can_be_paid_any_number_of_times() -> None:
    free = Affordability(0, 0)

    assert (free.covered, free.count, free.share) == (True, None, 0.0)


def test_a_postpaid_organization_spends_what_remains_of_its_cycle() -> None:
    balance = Balance.model_validate(
        {
            "balance_micro_usd": 0,
            "postpaid": {"cycle": {"remaining_micro_usd": 9_000_000}},
        }
    )

    assert Funds(balance, held_micro_usd=1_000_000).left_micro_usd == 8_000_000
