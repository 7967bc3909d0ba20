"""Searching the history by words, project, function and status."""

import json
from functools import partial
from itertools import count

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mediakit.errors import InputError
from mediakit.history import History, Parent, ratings
from mediakit.history.forgetting import forget
from mediakit.history.search import folded
from tests.support.soak import trials
from tests.support.submissions import HERE, completed, failed, job, submission

ELSEWHERE = "https://b.test/f/walk.mp4?sig=1"
BOTH = pytest.mark.parametrize("place", ["sqlite", "postgres"], indirect=True)


def found(history, text, **chosen):
    """Return the keys that a search finds, as a frame and as a page."""
    keys = history.search(text, **chosen)["key"].tolist()
    assert [entry.key for entry in history.page(text=text, **chosen)] == keys
    return keys


def test_all_words_must_occur_in_any_order(history):
    history.claim(submission("red", prompt="a red kite over dunes"))
    history.claim(submission("blue", prompt="a blue kite", project="Dunes 2026"))
    assert found(history, "kite") == ["blue", "red"]
    assert found(history, "dunes  kite") == ["blue", "red"]
    assert found(history, "kite blue") == ["blue"]
    assert found(history, "kit un") == ["blue", "red"]
    assert found(history, "kite submarine") == []


@BOTH
def test_words_in_notes_and_tags_of_the_output_are_found_too(history):
    for key, prompt in (("kite", "a kite"), ("gull", "a gull")):
        history.claim(submission(key, draw_key=key, prompt=prompt))
        history.record_job(key, completed(job_id=f"media_{key}"))
    judge = partial(ratings.judge, history, **HERE, job_id="media_kite")
    judge(tags=("hero shot", "for Mia"), note="Best HORIZON, 100% calm")
    assert found(history, "best horizon") == ["kite"]
    assert found(history, "hero kite mia") == ["kite"]
    assert found(history, "100%") == ["kite"]
    assert found(history, "gull hero") == []
    # What writes a list of tags down is in no tag.
    for sign in ('"', "[", "]", ","):
        assert "gull" not in found(history, sign)


def test_prompt_function_kind_job_project_and_error_are_searched(history):
    history.claim(submission("k1", project="Spring campaign"))
    history.claim(submission("k2", kind="keyframes", function="acme/v2/image-to-video"))
    history.record_job("k2", failed("content_policy", job_id="media_77"))
    history.claim(submission("k3", prompt=None))
    history.record_refusal("k3", code="422", message="duration: got 99")
    assert found(history, "campaign") == ["k1"]
    assert found(history, "acme/v2") == ["k2"]
    assert found(history, "keyframes") == ["k2"]
    assert found(history, "media_77 luck") == ["k2"]
    assert found(history, "422 99") == ["k3"]
    assert found(history, history.find("media_77").error_code) == ["k2"]


@BOTH
def test_a_job_without_a_prompt_is_found_by_its_title_until_that_is_erased(history):
    kinds = {"clip": "text-to-video", "large": "video-upscale", "cut": "compose-video"}
    for before, (key, kind) in zip([None, *kinds], kinds.items(), strict=False):
        body = json.dumps({"video": f"https://a.test/{before}", "of": ELSEWHERE})
        named = {"kind": kind, "function": f"a/b/{kind}", "draw_key": key}
        named |= {"prompt": None, "body": body.encode()} if before else {}
        mine = submission(key, **{"prompt": "a paper boat, dawn", **named})
        parents = [Parent("video", f"media_{before}", "")] if before else []
        history.claim(mine, parents=parents)
        history.record_job(key, completed(job_id=f"media_{key}"))
    assert found(history, "Upscaled: a paper boat, dawn") == ["cut", "large"]
    assert found(history, "Composition: Upscaled: a paper… and 1 more") == ["cut"]
    assert found(history, "walk.mp4 boat") == ["cut", "large"]
    assert found(history, "text-to-video boat") == ["clip"]
    # What was erased is not found by its words, nor is what was made from it.
    forget(history, "media_clip")
    assert found(history, "boat") == []
    assert found(history, "Upscaled: Text to video") == ["cut", "large"]


def test_the_search_ignores_case_but_not_accents(history):
    history.claim(submission("k1", prompt="ÜBER den STRASSEN von Łódź"))
    assert found(history, "über") == ["k1"]
    assert found(history, "u\u0308ber") == ["k1"]  # the same, in two characters
    assert found(history, "straßen") == ["k1"]
    assert found(history, "ŁÓDŹ") == ["k1"]
    assert found(history, "uber") == []


@BOTH
def test_the_search_has_no_wildcards(history):
    history.claim(submission("k1", prompt="100% wind"))
    history.claim(submission("k2", prompt="100 winds a_b c\\d e/f it's"))
    assert found(history, "100%") == ["k1"]
    assert found(history, "%") == ["k1"]
    assert found(history, "a_b") == ["k2"]
    assert found(history, "0_w") == []
    assert found(history, "c\\d e/f it's") == ["k2"]
    assert found(history, "c*") == []


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"status": "done"}, "status must be queued, run"),
        ({"text": "x" * 1_001}, "text must be .*up to 1,000 characters"),
        ({"limit": 0}, "limit must be a whole number"),
        ({"limit": 10**30}, "limit must be "),
    ],
)
def test_an_invalid_search_is_refused_with_a_readable_error(tmp_path, wrong, sentence):
    with History(tmp_path / "history.db") as history:
        for read in (history.page, history.search):
            with pytest.raises(InputError, match=rf"^{sentence}.*Nothing was sent"):
                read(**{"text": "kite", **wrong})


def test_a_search_can_be_narrowed_down(history):
    history.claim(submission("k1", project="spring"))
    history.claim(submission("k2", project="spring", kind="keyframes"))
    history.claim(submission("k3", service="hosted"))
    history.claim(submission("k4", account="other"))
    history.record_job("k1", completed())
    history.record_job("k3", job("running", "media_3"))
    assert found(history, " \n ") == ["k4", "k3", "k2", "k1"]
    assert found(history, "kite", project="spring") == ["k2", "k1"]
    assert found(history, "kite", project="none") == []
    assert found(history, "kite", kind="keyframes") == ["k2"]
    assert found(history, "kite", status="completed") == ["k1"]
    assert found(history, "kite", status="running", service="hosted") == ["k3"]
    assert found(history, "kite", **HERE) == ["k2", "k1"]
    assert found(history, "kite", limit=2) == ["k4", "k3"]
    for chosen in ({"project": "spring"}, {"kind": "keyframes"}, {"status": "running"}):
        keys = history.frame(**chosen)["key"].tolist()
        assert keys == found(history, "", **chosen)


def test_pages_of_a_search_have_no_gaps_or_repeats_while_entries_arrive(history):
    for n in range(9):
        history.claim(submission(f"k{n}", prompt="kite" if n % 2 else "boat"))
    first = history.page(text="kite", limit=2)
    history.claim(submission("new", prompt="kite"))
    second = history.page(text="kite", limit=2, before=first[-1])
    assert [entry.key for entry in (*first, *second)] == ["k7", "k5", "k3", "k1"]
    assert history.page(text="kite", limit=2, before=second[-1]) == []


NUMBERS = count(1)


@pytest.fixture(scope="module")
def anywhere():
    with History("sqlite://") as history:
        yield history


@settings(max_examples=trials(30, soak=100))
@given(text=st.text(), start=st.integers(0, 20), length=st.integers(1, 20))
@example(text="100%_\\/'\"", start=0, length=9)
def test_any_word_of_a_prompt_finds_it_in_any_case(anywhere, text, start, length):
    key = f"k{next(NUMBERS)}"
    anywhere.claim(submission(key, prompt=text, project=key))
    for word in text.split():
        words = [word, folded(word)]
        if word.isascii():
            words.append(word.upper()[start : start + length])
        for each in words:
            page = anywhere.page(text=each, project=key)
            assert [entry.key for entry in page] == [key]


def paged(history, order, **chosen):
    """Return the keys of all pages of two entries, in order."""
    keys, before = [], None
    while page := history.page(limit=2, before=before, order=order, **chosen):
        keys += [entry.key for entry in page]
        before = page[-1]
    return keys


@BOTH
def test_pages_follow_each_other_in_every_order(history):
    for key, charge in [("a", 5), ("b", None), ("c", 0), ("d", 5), ("e", None)]:
        history.claim(submission(key))
        if charge is not None:
            history.record_job(key, completed(charge, job_id=f"media_{key}"))
    assert paged(history, "newest") == ["e", "d", "c", "b", "a"]
    assert paged(history, "oldest") == ["a", "b", "c", "d", "e"]
    assert paged(history, "dearest") == ["d", "a", "c", "e", "b"]
    assert paged(history, "dearest", status="completed") == ["d", "a", "c"]
