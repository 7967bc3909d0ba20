"""Judges: their scores for a prompt and a picture, and their agreement with people."""

from __future__ import annotations

import base64
import io
import json
import logging
import pickle
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pandas as pd
import pytest
from PIL import Image

from mediakit import Client
from mediakit.errors import InputError, ServiceError
from mediakit.sweep import Results
from mediakit.sweep.judges import JudgeError, ModelJudge, light_and_colour
from mediakit.sweep.scorer_identity import identity_of
from tests.support.advancing_clock import AdvancingClock
from tests.support.servers.loopback import Asked, LoopbackServer, Said
from tests.sweep.clips import flat, write_clip
from tests.sweep.service import Service
from tests.sweep.test_scoring import made

KEY = "key-of-the-model"
RUBRIC = {
    "follows_prompt": "Does the picture show what the prompt asks for?",
    "looks_good": "Is it sharp, well lit and well composed?",
}


def png(*colours: tuple[int, int, int]) -> bytes:
    """Return a picture of stripes."""
    rows = np.array(colours, np.uint8)[:, None].repeat(24, axis=1).repeat(8, axis=0)
    out = io.BytesIO()
    Image.fromarray(rows).save(out, "PNG")
    return out.getvalue()


# -- by rules -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("prompt", "colours", "light", "colour"),
    [
        ("a boat at night", [(10, 10, 30)], 5, None),
        ("a boat at night", [(240, 240, 240)], 1, None),
        ("a boat at noon", [(240, 240, 240)], 5, None),
        ("a boat at dusk", [(220, 120, 60)], 5, None),
        ("a boat at dusk", [(40, 80, 200)], 1, None),
        ("a red kite", [(220, 20, 20)], None, 5),
        ("a red kite", [(20, 20, 220)], None, 1),
        ("a red kite", [(220, 20, 20)] + [(0, 0, 0)] * 9, None, 3),
        ("a green and a blue kite", [(20, 200, 20)], None, 3),
        ("a kite", [(220, 20, 20)], None, None),
    ],
)
def test_light_and_colour_are_judged_against_the_words_of_the_prompt(
    tmp_path: Path,
    prompt: str,
    colours: list[tuple[int, int, int]],
    light: float | None,
    colour: float | None,
) -> None:
    path = tmp_path / "picture.png"
    path.write_bytes(png(*colours))
    said = light_and_colour(path, {"prompt": prompt})

    for name, stars in (("light", light), ("colour", colour)):
        assert said[name] == pytest.approx(
            np.nan if stars is None else stars, nan_ok=True
        )
    assert said["reason"]


def test_a_clip_is_judged_by_several_frames(tmp_path: Path) -> None:
    clip = write_clip(tmp_path / "clip.mp4", [flat(0)] * 4 + [flat(255)] * 4)

    assert light_and_colour(clip, {"prompt": "night"})["light"] == pytest.approx(
        2, abs=1
    )


# -- by a language model --------------------------------------------------------------


class Model(LoopbackServer):
    """A language model's server with recorded requests and scripted responses."""

    def __init__(self, judge: Callable[[dict[str, Any]], Said]) -> None:
        super().__init__()
        self.asked: list[dict[str, Any]] = []
        self.keys: set[str | None] = set()
        self.judge = judge
        self.url = f"{self.base_url}/v1"

    def answer(self, asked: Asked) -> Said:
        self.asked.append({**asked.json, "path": asked.path})
        self.keys.add(asked.headers.get("Authorization"))
        # Nobody closes a judge: a connection that is kept would be left open.
        return replace(self.judge(asked.json), headers={"Connection": "close"})


def said(text: str) -> Said:
    """Return a response of a model."""
    return Said({"choices": [{"message": {"content": text}}]})


def prompt_in(asked: dict[str, Any]) -> str:
    text = asked["messages"][1]["content"][0]["text"]
    return str(text).splitlines()[0].removeprefix("Prompt: ")


def judged(asked: dict[str, Any]) -> Said:
    """Respond with the length of the prompt, from 1 to 5."""
    stars = min(5, len(prompt_in(asked)))
    text = json.dumps(dict.fromkeys(RUBRIC, stars) | {"reason": "It fits."})
    return said(f"```json\n{text}\n```")  # as some models do


@pytest.fixture
def model() -> Iterator[Model]:
    with Model(judged) as server:
        yield server


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    service = Service(file_of=lambda _: png((200, 30, 30)))
    with service.client(tmp_path / "home") as client:
        yield client


def test_a_model_judges_by_the_rubric_with_a_reason_and_is_asked_once(
    client: Client, model: Model
) -> None:
    results = made(client, "owl", "kites")
    for _ in range(2):
        judge = ModelJudge(model.url, "small", RUBRIC, api_key=KEY)
        with ThreadPoolExecutor(2) as threads:
            scored = results.score(judge, threads)

    assert scored["problem"].isna().all()
    assert scored["follows_prompt"].tolist() == [3, 5]
    assert scored["looks_good"].tolist() == [3, 5]
    assert scored["reason"].tolist() == ["It fits."] * 2
    assert len(model.asked) == 2
    assert model.keys == {f"Bearer {KEY}"}


def test_the_model_sees_the_prompt_the_rubric_and_the_picture(
    client: Client, model: Model
) -> None:
    judge = ModelJudge(model.url, "small", RUBRIC, options={"temperature": 0})
    made(client, "an owl").score(judge)

    (asked,) = model.asked
    assert asked["path"] == "/v1/chat/completions"
    assert (asked["model"], asked["temperature"]) == ("small", 0)
    text, picture = asked["messages"][1]["content"]
    assert "an owl" in text["text"]
    assert all(f"- {name}: {what}" in text["text"] for name, what in RUBRIC.items())
    encoded = picture["image_url"]["url"].partition("base64,")[2]
    shown = Image.open(io.BytesIO(base64.b64decode(encoded)))
    assert shown.size == (24, 8)
    schema = asked["response_format"]["json_schema"]["schema"]
    assert schema["required"] == [*RUBRIC, "reason"]
    assert "media_" not in json.dumps(asked)
    assert model.keys == {None}


def test_the_model_sees_three_frames_of_a_clip(model: Model, tmp_path: Path) -> None:
    clip = write_clip(
        tmp_path / "clip.mp4", [flat(level) for level in range(0, 240, 10)]
    )
    ModelJudge(model.url, "small", RUBRIC)(clip, {"prompt": "a fade"})

    kinds = [part["type"] for part in model.asked[0]["messages"][1]["content"]]
    assert kinds == ["text", *["image_url"] * 3]


GIVEN = json.dumps(dict.fromkeys(RUBRIC, 4) | {"reason": "It fits."})
COUNTED = {"prompt_tokens": 1_234, "completion_tokens": 57}


@pytest.mark.parametrize(
    ("usage", "header", "prices", "cost_micro_usd"),
    [
        ({"cost": 0.00123456789}, None, None, 1_235),
        ({"cost": 0.0000005}, None, None, 1),
        ({"cost": 0}, None, None, 0),
        ({"cost": 0.5, **COUNTED}, None, ("0.15", "0.60"), 500_000),
        (COUNTED, "0.000415", ("0.15", "0.60"), 415),
        (COUNTED, None, ("0.15", "0.60"), 219),  # 185.1 + 34.2
        (COUNTED, "None", ("0.15", 1), 242),
        (COUNTED, None, None, None),
        ({"prompt_tokens": 1_234}, None, ("0.15", "0.60"), None),
        ({"cost": "free"}, None, None, None),
        ({"cost": -1}, None, None, None),
        ({"cost": 1e-300}, None, None, 0),
        ({}, None, ("0.15", "0.60"), None),
    ],
)
def test_a_judge_says_what_its_model_charged_where_that_is_known(
    client: Client,
    usage: dict[str, Any],
    header: str | None,
    prices: Any,
    cost_micro_usd: int | None,
) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        message = {"message": {"content": GIVEN}}
        headers = {} if header is None else {"x-litellm-response-cost": header}
        content = {"choices": [message], "usage": usage}
        return httpx.Response(200, json=content, headers=headers)

    judge = ModelJudge(
        "http://model.test/v1",
        "small",
        RUBRIC,
        usd_per_million_tokens=prices,
        transport=httpx.MockTransport(answer),
    )
    results = made(client, "owl", "kite")
    scored = results.score(judge)

    # Both clips are the same picture, but the judge sees the prompts.
    costs = [cost_micro_usd] * 2
    assert (
        scored["cost_micro_usd"]
        .astype(object)
        .where(scored["cost_micro_usd"].notna(), None)
        .tolist()
        == costs
    )
    known = [cost for cost in costs if cost is not None]
    frame = results.frame()
    assert frame["reason"].tolist() == ["It fits."] * 2
    assert ("judge_cost_micro_usd" in frame) == bool(known)
    assert frame.get("judge_cost_micro_usd", pd.Series([])).sum() == sum(known)


@pytest.mark.parametrize(
    "prices", ["0.15", "1x", ("0.15",), ("0.15", 0.6), (1, 2, 3), ("-1", "2"), 3]
)
def test_prices_of_tokens_are_two_amounts(prices: Any) -> None:
    with pytest.raises(InputError, match="two amounts in US dollars") as caught:
        ModelJudge(
            "http://model.test/v1", "small", RUBRIC, usd_per_million_tokens=prices
        )
    assert caught.value.field == "usd_per_million_tokens"


def test_another_model_or_rubric_is_another_judge(client: Client, model: Model) -> None:
    results = made(client, "owl")
    judges = [
        ModelJudge(model.url, "small", RUBRIC),
        ModelJudge(model.url, "large", RUBRIC),
        ModelJudge(model.url, "small", RUBRIC | {"looks_good": "Is it pretty?"}),
        ModelJudge(model.url, "small", RUBRIC, options={"temperature": 0}),
    ]
    for judge in [*judges, *judges]:
        results.score(judge)

    assert len(model.asked) == len(judges)


class StrictJudge(ModelJudge):
    def __call__(self, path: Path, row: Mapping[str, Any]) -> dict[str, Any]:
        return {**super().__call__(path, row), "looks_good": 1}


def test_the_judgements_of_earlier_versions_are_found_after_an_upgrade(
    model: Model,
) -> None:
    judge = ModelJudge(model.url, "small", RUBRIC)
    strict = StrictJudge(model.url, "small", RUBRIC)

    # As a history of version 11 has it.
    stored = ("mediakit.sweep.judges.ModelJudge", f"{judge.version}-e7e7f02c179f27c0")
    assert identity_of(judge) == stored
    assert identity_of(strict)[1] not in (None, stored[1])


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (
            Said("out of memory", 500),
            "JudgeError: the model's server sent 500: out of",
        ),
        (Said(f"the key {KEY} is unknown", 401), "sent 401: the key … is unknown"),
        (Said("<html>"), "JudgeError: the model did not answer as asked: <html>"),
        (said("It is fine."), "JudgeError: the model did not answer as asked"),
        (
            said('{"follows_prompt": 7, "looks_good": 3, "reason": ""}'),
            "JudgeError: the model gave 7 for follows_prompt; it must be from 1 to 5",
        ),
    ],
)
def test_a_failed_judgement_is_a_problem_and_only_it_is_repeated(
    client: Client, model: Model, answer: Said, problem: str
) -> None:
    model.judge = lambda asked: judged(asked) if prompt_in(asked) == "owl" else answer
    results = made(client, "owl", "kite")
    judge = ModelJudge(model.url, "small", RUBRIC, api_key=KEY)
    scored = results.score(judge)

    assert problem in scored["problem"][1]
    assert KEY not in scored.to_string()
    assert scored["follows_prompt"].tolist()[0] == 3
    model.judge = judged
    assert results.score(judge)["follows_prompt"].tolist() == [3, 4]
    assert [prompt_in(asked) for asked in model.asked] == ["owl", "kite", "kite"]


def charging(*contents: str, cost: Any = 0.0015, status: int = 200) -> ModelJudge:
    """Return a judge whose server returns these responses, repeating the last one."""
    answers = [*contents]

    def answer(request: httpx.Request) -> httpx.Response:
        content = answers.pop(0) if len(answers) > 1 else answers[0]
        shape = {"choices": [{"message": {"content": content}}]}
        text = json.dumps(shape) if content != "<html>" else content
        headers = {"x-litellm-response-cost": str(cost)}
        return httpx.Response(status, text=text, headers=headers)

    transport = httpx.MockTransport(answer)
    return ModelJudge("http://model.test/v1", "small", RUBRIC, transport=transport)


@pytest.mark.parametrize(
    ("content", "status"), [("It is fine.", 200), ("<html>", 200), ("Too long.", 400)]
)
def test_the_cost_of_an_answer_without_a_score_is_recorded_and_not_repeated_silently(
    client: Client, content: str, status: int
) -> None:
    results = made(client, "owl")
    with (
        pytest.warns(UserWarning, match="there are no scores"),
        pytest.warns(UserWarning, match=r"charged \$0\.0015 for an answer that can"),
    ):
        scored = results.score(charging(content, status=status))

    assert scored["problem"].notna().all()
    assert scored["cost_micro_usd"].tolist() == [1_500]
    with pytest.warns(UserWarning, match=r"asked again.*which it charged \$0\.0015"):
        results.score(charging(GIVEN))
    for frame in (results.frame(), client.spend.charges(), client.sweeps()):
        assert frame["judge_cost_micro_usd"].tolist() == [3_000]
        assert frame["looks_good"].tolist() == [4]
    # Nothing is due now, so nobody is asked and nothing is said.
    assert results.score(charging(content))["looks_good"].tolist() == [4]
    assert results.frame()["judge_cost_micro_usd"].tolist() == [3_000]


def test_the_cost_of_an_answer_without_a_score_is_in_every_frame_after_a_restart(
    tmp_path: Path,
) -> None:
    service = Service(file_of=lambda _: png((200, 30, 30)))
    with service.client(tmp_path / "home") as client:
        results = made(client, "owl", "kite")
        with pytest.warns(UserWarning, match="cannot be used"):
            results.score(charging(GIVEN, "It is fine."))

    with service.client(tmp_path / "home") as client:
        found = client.sweep_results(results.id)
        frames = [
            found.frame(),
            client.spend.charges(),
            client.history.frame(params=True),
        ]
        for frame in frames:
            assert frame["judge_cost_micro_usd"].tolist() == [1_500, 1_500]
            assert frame["looks_good"].isna().sum() == 1
        assert client.sweeps()["judge_cost_micro_usd"].tolist() == [3_000]
        records = found.scores()
        assert records["name"].isna().sum() == 1
        assert records.drop_duplicates("job_id")["cost_micro_usd"].sum() == 3_000


def test_a_custom_judge_reports_the_cost_of_a_failed_answer(client: Client) -> None:
    def torn(path: Path) -> dict[str, Any]:
        return {"stars": [1, 2], "cost_micro_usd": 700}

    def broken(path: Path) -> float:
        raise JudgeError("no stars", 50)

    results = made(client, "owl")
    for scorer, cost_micro_usd in ((torn, 700), (broken, 750)):
        with (
            pytest.warns(UserWarning, match="there are no scores"),
            pytest.warns(UserWarning, match="cannot be used"),
        ):
            results.score(scorer)
        frame = results.frame()
        assert frame["judge_cost_micro_usd"].tolist() == [cost_micro_usd]


def test_a_model_that_cannot_be_reached_is_a_problem_of_each_output(
    client: Client,
) -> None:
    def refuse(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused", request=request)

    url = f"http://user:{KEY}@model.test/v1?token={KEY}"
    judge = ModelJudge(url, "small", RUBRIC, transport=httpx.MockTransport(refuse))
    results = made(client, "owl", "kite")
    with pytest.warns(UserWarning, match="there are no scores"):
        scored = results.score(judge)

    said = "ServiceError: the model cannot be reached (ConnectError)"
    assert set(scored["problem"]) == {said}


@pytest.mark.parametrize("status", [429, 503])
def test_a_busy_model_is_retried(tmp_path: Path, model: Model, status: int) -> None:
    answers = [Said("busy", status), Said("busy", status)]
    model.judge = lambda asked: answers.pop() if answers else judged(asked)
    clock = AdvancingClock()
    picture = tmp_path / "owl.png"
    picture.write_bytes(png((200, 30, 30)))
    judge = ModelJudge(model.url, "small", RUBRIC, clock=clock)

    assert judge(picture, {"prompt": "owl"})["looks_good"] == 3
    assert len(clock.slept_s) == 2


@pytest.mark.parametrize("status", [429, 503])
def test_a_model_that_stays_busy_is_one_readable_error(
    tmp_path: Path, model: Model, status: int
) -> None:
    model.judge = lambda _: Said("busy", status)
    picture = tmp_path / "owl.png"
    picture.write_bytes(png((200, 30, 30)))
    judge = ModelJudge(model.url, "small", RUBRIC, clock=AdvancingClock())
    with pytest.raises(JudgeError, match=f"server sent {status}: busy"):
        judge(picture, {"prompt": "owl"})

    assert 3 <= len(model.asked) <= 10


@pytest.mark.parametrize(
    ("url", "key", "field"),
    [
        ("http://127.0.0.1:1/v1", "sk-ä", "api_key"),
        ("http://127.0.0.1:1/v1", "sk-abc\n", "api_key"),
        ("http://127.0.0.1:1/v1", "sk abc", "api_key"),
        ("http://127.0.0.1:1/v1\n", "sk-abc", "base_url"),
        ("127.0.0.1:1/v1", "sk-abc", "base_url"),
        ('"http://127.0.0.1:1/v1"', "sk-abc", "base_url"),
        ("http://127.0.0.1:99999/v1", "sk-abc", "base_url"),
    ],
)
def test_a_url_or_a_key_of_which_no_request_can_be_made_is_refused(
    url: str, key: str, field: str
) -> None:
    with pytest.raises(InputError, match=field) as caught:
        ModelJudge(url, "small", RUBRIC, api_key=key)

    assert key not in str(caught.value)


def test_a_model_on_this_machine_needs_no_proxy_and_no_certificates(
    tmp_path: Path, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "socks://127.0.0.1:1080")
    monkeypatch.setenv("NO_PROXY", "fd07:b51a::/64")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "gone.pem"))
    picture = tmp_path / "owl.png"
    picture.write_bytes(png((200, 30, 30)))
    judge = ModelJudge(model.url, "small", RUBRIC)

    assert judge(picture, {"prompt": "owl"})["looks_good"] == 3


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("HTTPS_PROXY", "socks://127.0.0.1:1080"),
        ("SSL_CERT_FILE", "/gone/ca.pem"),
        ("SSLKEYLOGFILE", "/gone/keys.log"),
    ],
)
def test_an_unusable_variable_for_a_models_url_is_named(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ServiceError, match=f"{name}={value}"):
        ModelJudge("https://model.test/v1", "small", RUBRIC)


def test_the_key_of_a_model_is_in_no_output_log_or_pickle(
    client: Client, model: Model, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    judge = ModelJudge(model.url, "small", RUBRIC, api_key=KEY)
    results = made(client, "owl")
    results.score(judge)

    assert repr(judge) == "<ModelJudge small: follows_prompt, looks_good>"
    assert KEY not in f"{judge!r} {judge.version} {results.frame().to_string()}"
    assert KEY not in caplog.text
    with pytest.raises(TypeError, match="use threads"):
        pickle.dumps(judge)
    with ProcessPoolExecutor(1) as pool, pytest.raises(InputError, match="use threads"):
        results.score(judge, pool)
    home = client.components.home
    assert home is not None
    files = [path for path in home.rglob("*") if path.is_file()]
    assert len(files) > 1
    assert not any(KEY.encode() in path.read_bytes() for path in files)


@pytest.mark.parametrize(
    "rubric",
    [
        *({}, {"reason": "Why?"}, {"problem": "What?"}),
        *({"cost_micro_usd": "How dear?"}, "fits the prompt", None),
    ],
)
def test_a_rubric_without_distinct_names_is_rejected(rubric: Any) -> None:
    with pytest.raises(InputError, match="rubric"):
        ModelJudge("http://model.test/v1", "small", rubric)


# -- beside people --------------------------------------------------------------------


def rated(client: Client, ratings: list[int], stars: Callable[[int], float]) -> Results:
    """Return results with these ratings, and a judge's `stars` of the same outputs."""
    prompts = [f"prompt {n}" for n in range(len(ratings))]
    results = made(client, *prompts)
    for job_id, rating in zip(results.frame()["job_id"], ratings, strict=True):
        results.rate(job_id, rating)
    judge = {prompt: stars(n) for n, prompt in enumerate(prompts)}
    results.score(
        lambda path, row: {"stars": judge[row["prompt"]], "reason": row["prompt"]},
        version="1",
    )
    return results


def test_a_judge_that_ranks_like_people_agrees_with_them(client: Client) -> None:
    ratings = [1, 2, 2, 3, 3, 4, 4, 5, 5, 1]
    found = rated(client, ratings, lambda n: ratings[n]).agreement("stars")

    assert (found.pairs, found.rank_correlation, found.weighted_kappa) == (10, 1, 1)
    assert found.text == (
        "10 outputs have both stars and rating. Their rank correlation is 1.00 (95% "
        "interval 0.93 to 1.00): more than chance explains. Their weighted kappa is "
        "1.00."
    )


def test_agreement_matches_textbook_values(client: Client) -> None:
    ratings = [1, 2, 3, 4, 5, 5, 2, 1]
    stars = [2, 1, 3, 3, 5, 4, 3, 1]
    found = rated(client, ratings, lambda n: stars[n]).agreement("stars")

    # Spearman: the correlation of the ranks, where equal ones share theirs.
    rating_ranks = [1.5, 3.5, 5, 6, 7.5, 7.5, 3.5, 1.5]
    star_ranks = [3, 1.5, 5, 5, 8, 7, 5, 1.5]
    rho = np.corrcoef(rating_ranks, star_ranks)[0, 1]
    assert found.rank_correlation == pytest.approx(rho)
    # Cohen: observed over expected disagreement, in a table of counts.
    counts = np.zeros((5, 5))
    np.add.at(counts, (np.array(ratings) - 1, np.array(stars) - 1), 1)
    weights = np.square(np.subtract.outer(np.arange(5), np.arange(5)))
    by_chance = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / 8
    kappa = 1 - (weights * counts).sum() / (weights * by_chance).sum()
    assert found.weighted_kappa == pytest.approx(kappa)
    assert found.low is not None
    assert found.high is not None
    assert 0 < found.low < rho < found.high < 1
    # Both are side by side, the largest disagreement first.
    assert list(found.frame.columns) == [
        *("prompt", "take", "stars", "rating", "reason", "job_id")
    ]
    assert found.frame["rating"].tolist() != ratings
    assert sorted(found.frame["rating"]) == sorted(ratings)


def test_other_scales_have_no_kappa_and_a_judge_may_be_against_people(
    client: Client,
) -> None:
    ratings = [1, 2, 3, 4, 5, 1, 2, 3, 4, 5]
    found = rated(client, ratings, lambda n: -float(ratings[n])).agreement("stars")

    assert found.weighted_kappa is None
    assert found.rank_correlation == pytest.approx(-1)
    assert "they disagree more than chance explains" in found.text
    assert "kappa" not in found.text


@pytest.mark.parametrize(
    ("ratings", "sentence"),
    [
        ([3], "1 output has both stars and rating; at least 5 that differ are needed"),
        ([1, 2, 3, 4], "4 outputs have both"),
        ([3] * 8, "8 outputs have both stars and rating; at least 5 that differ"),
    ],
)
def test_too_few_pairs_say_how_many_there_are_and_no_more(
    client: Client, ratings: list[int], sentence: str
) -> None:
    found = rated(client, ratings, float).agreement("stars")

    assert found.text.startswith(sentence)
    assert (found.pairs, found.rank_correlation) == (len(ratings), None)


def test_agreement_asks_for_columns_of_numbers(client: Client) -> None:
    results = rated(client, [1, 2], float)
    for name in ("stairs", "prompt"):
        with pytest.raises(InputError, match="score must be a column of numbers"):
            results.agreement(name)
