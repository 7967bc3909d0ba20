"""The pages of the sandbox's own."""

import httpx

from tests.sandbox.conftest import KITE, Api


def test_the_page_shows_balance_and_jobs_but_no_prompt_and_no_key(idle: Api) -> None:
    job = idle.submit("text-to-video", KITE)

    answer = httpx.get(f"{idle.running.base_url}/", trust_env=False)

    assert answer.headers["content-type"].startswith("text/html")
    assert "$100.00" in answer.text
    assert job["id"] in answer.text
    assert KITE["prompt"] not in answer.text
    assert idle.running.api_key not in answer.text


def test_the_status_names_the_sandbox_without_secrets(idle: Api) -> None:
    answer = httpx.get(f"{idle.running.base_url}/sandbox/status", trust_env=False)

    status = answer.json()
    assert status["identity"] == idle.running.identity
    assert status["functions"] == idle.running.functions
    assert idle.running.api_key not in answer.text


def test_a_page_of_another_host_name_cannot_read_them(idle: Api) -> None:
    for path in ("/", "/sandbox/status"):
        answer = idle.http.get(path, headers={"Host": "rebound.example"})
        assert answer.status_code == 403
        assert list(answer.json()) == ["message"]
