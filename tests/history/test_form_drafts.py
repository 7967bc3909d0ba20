"""The history has the drafts of forms, and the requests of each form."""

from datetime import timedelta

from mediakit.clock import VirtualClock
from mediakit.history import History, tuning
from mediakit.history.tuning import DRAFTS_KEPT_FOR
from tests.support.submissions import START, submission

MINE, OTHERS = (
    '["", "/home/me/a.ipynb", "cell-1"]',
    '["", "/home/me/b.ipynb", "cell-1"]',
)


def keys(entries):
    return [entry.key for entry in entries]


def test_a_form_finds_only_its_own_requests_newest_first(history):
    for number in range(4):
        origin = OTHERS if number == 2 else MINE
        history.claim(submission(f"k{number}"), origin=origin)
    history.claim(submission("of no form"))

    assert keys(tuning.asked_from(history, MINE, limit=9)) == ["k3", "k1", "k0"]
    assert keys(tuning.asked_from(history, MINE, limit=2)) == ["k3", "k1"]
    second = tuning.asked_from(history, MINE, limit=9)[1]
    after_a_reset = tuning.asked_from(history, MINE, limit=9, after=second.number)
    assert keys(after_a_reset) == ["k3"]
    assert keys(tuning.asked_from(history, OTHERS, limit=9)) == ["k2"]
    assert tuning.asked_from(history, "elsewhere", limit=9) == []


def test_a_request_of_two_forms_belongs_to_both(history):
    history.claim(submission("k0"), origin=MINE)
    tuning.note_origin(history, "k0", OTHERS)
    tuning.note_origin(history, "k0", OTHERS)
    assert keys(tuning.asked_from(history, OTHERS, limit=9)) == ["k0"]
    assert keys(tuning.asked_from(history, MINE, limit=9)) == ["k0"]


def test_a_refused_key_belongs_to_the_form_that_claims_it_next(history):
    history.claim(submission("k0"), origin=MINE)
    history.record_refusal("k0", code="422", message="no")
    assert history.claim(submission("k0"), origin=OTHERS)[1]
    assert tuning.asked_from(history, MINE, limit=9) == []
    assert keys(tuning.asked_from(history, OTHERS, limit=9)) == ["k0"]


def test_a_claim_of_an_existing_key_does_not_change_its_form(history):
    history.claim(submission("k0"), origin=MINE)
    assert not history.claim(submission("k0"), origin=OTHERS)[1]
    assert tuning.asked_from(history, OTHERS, limit=9) == []


def test_the_newest_draft_of_each_form_is_kept_across_starts(place, clock):
    with History(place, clock=clock) as history:
        assert tuning.draft(history, MINE) is None
        tuning.save_draft(history, MINE, '{"prompt": "a"}')
        tuning.save_draft(history, MINE, '{"prompt": "a kite \\u00e9"}')
        tuning.save_draft(history, OTHERS, "{}")
    with History(place, clock=clock) as history:
        assert tuning.draft(history, MINE) == '{"prompt": "a kite \\u00e9"}'
        assert tuning.draft(history, OTHERS) == "{}"


def test_drafts_that_are_unused_for_a_year_are_deleted(tmp_path):
    path = tmp_path / "history.db"
    with History(path, clock=VirtualClock(START)) as history:
        tuning.save_draft(history, "unused", "{}")
        tuning.save_draft(history, "used", "{}")
    later = VirtualClock(START + DRAFTS_KEPT_FOR)
    with History(path, clock=later) as history:
        tuning.save_draft(history, "used", "{}")
        assert tuning.draft(history, "unused") == "{}"
    later = VirtualClock(START + DRAFTS_KEPT_FOR + timedelta(seconds=1))
    with History(path, clock=later) as history:
        tuning.save_draft(history, "new", "{}")
        assert tuning.draft(history, "unused") is None
        assert tuning.draft(history, "used") == "{}"
