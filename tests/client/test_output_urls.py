"""Invalid output URLs affect no other job and read no local file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

import mediakit as mk
from tests.client.conftest import Open
from tests.support.samples.media_samples import make_png
from tests.support.service_in_memory import (
    API,
    CHARGE_MICRO_USD,
    COMPLETED,
    FILES,
    SETTLED,
    Answer,
    ServiceInMemory,
    says,
    tells,
)

CLIP: dict[str, Any] = {"duration": 5}
UNPARSABLE = ["http://[::1/a.mp4", "https://files.example℀.net/a.mp4", "http://a:b/"]
NO_CONTENT = says(httpx.Response(404, json={"message": "no content"}))


def outputs_at(
    service: ServiceInMemory,
    urls: dict[str, str],
    content: Answer = NO_CONTENT,
    **more: Any,
) -> Answer:
    """Return responses to reads: each job has its output at its URL."""

    def output(url: str) -> dict[str, Any]:
        return {"output": {"media_type": "image", "image": {"url": url}}}

    jobs = {job: tells(**COMPLETED | output(url) | more) for job, url in urls.items()}
    return service.by_job(content=content, **jobs)


@pytest.mark.parametrize("url", UNPARSABLE)
def test_a_job_whose_url_cannot_be_parsed_stops_no_other_job_of_the_next_session(
    service: ServiceInMemory, opened: Open, url: str
) -> None:
    good = f"{FILES}/a.mp4"
    urls = {"media_1": url, "media_2": good, "media_3": good}
    service.on_read = outputs_at(service, urls, billing=None)
    client = opened()
    jobs = [
        client.submit("text-to-video", prompt=prompt, **CLIP).wait()
        for prompt in ("bad", "good", "better")
    ]
    service.on_submit = service.fails(httpx.ReadError("lost"), makes_jobs=True)
    with pytest.raises(mk.ServiceError):
        client.submit("text-to-video", prompt="unanswered", **CLIP)
    client.close()

    service.on_submit = service.accepts
    service.on_read = outputs_at(service, {"media_1": url})
    again = opened()
    resumed = again.resume()
    assert [job.id for job in resumed] == [f"media_{n}" for n in range(1, 5)]
    for job in resumed:
        job.settle()
    assert again.reserved_micro_usd() == 0
    assert again.spend.charges().charge_micro_usd.sum() == 4 * CHARGE_MICRO_USD
    assert again.submit("text-to-video", prompt="bad", **CLIP).id == jobs[0].id
    assert again.history.search("bad").job_id.tolist() == [jobs[0].id]


@pytest.mark.parametrize("url", UNPARSABLE)
def test_the_file_at_an_unparsable_url_is_rejected_with_a_readable_message(
    service: ServiceInMemory, opened: Open, tmp_path: Path, url: str
) -> None:
    service.on_read = outputs_at(service, {"media_1": url})
    client = opened()
    job = client.submit("text-to-video", prompt="bad", **CLIP).wait()
    with pytest.raises(mk.ConflictError, match=r"not an http\(s\) URL"):
        job.download(tmp_path)
    assert job.url is None
    assert job.state.text


@pytest.mark.parametrize("url", UNPARSABLE)
def test_a_mistyped_url_raises_only_errors_of_mediakit(
    service: ServiceInMemory, opened: Open, url: str
) -> None:
    client = opened()
    service.on_submit = says(httpx.Response(400, json={"message": "image_url: bad"}))
    with pytest.raises(mk.InputError, match="image_url"):
        client.submit("image-upscale", image_url=url)


@pytest.mark.parametrize("spelling", ["file://{file}", "~/private.png"])
def test_an_output_that_names_a_local_file_never_becomes_an_upload(
    service: ServiceInMemory,
    opened: Open,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    spelling: str,
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    private = make_png(tmp_path / "private.png")
    url = spelling.format(file=private)
    service.on_read = outputs_at(service, {"media_1": url})
    client = opened()
    job = client.submit("text-to-image", prompt="bad").wait()

    with pytest.raises(mk.InputError, match=r"not at an http\(s\) URL"):
        client.submit("image-upscale", image_url=job)
    with pytest.raises(mk.InputError):
        client.submit("image-upscale", image_url=job.url)
    results = client.sweep("text-to-image", prompt=["bad"]).run()
    results.wait()
    for frame in (results.frame(), client.history.frame()):
        assert frame.output_url.isna().all()
    assert all(request.method != "PUT" for request in service.requests)
    assert len(service.posts) == 1


def test_an_output_url_that_is_not_http_is_read_from_the_content_endpoint(
    service: ServiceInMemory, opened: Open, tmp_path: Path
) -> None:
    content = says(httpx.Response(200, json={"url": f"{FILES}/a.mp4"}))
    service.on_read = outputs_at(service, {"media_1": "/files/a.mp4"}, content)
    job = opened().submit("text-to-video", prompt="a", **CLIP).wait()
    assert job.url == f"{FILES}/a.mp4"
    assert job.download(tmp_path).read_bytes()
    assert SETTLED["charge_micro_usd"] == job.charge_micro_usd


@pytest.mark.parametrize(
    ("output", "content"),
    [
        ("/files/a.mp4", httpx.Response(404, json={"message": "no content"})),
        ("/files/a.mp4", httpx.Response(500, json={"message": "no"})),
        ("files:a", httpx.Response(200, json={"url": "/files/a.mp4"})),
        ("", httpx.Response(307, headers={"Location": f"{FILES}/a.mp4"})),
        ("", httpx.Response(302, headers={"Location": "/files/a.mp4"})),
    ],
    ids=["no-content", "broken-content", "relative-content", "redirect", "relative"],
)
def test_an_output_url_without_a_host_is_relative_to_the_service(
    service: ServiceInMemory, opened: Open, output: str, content: httpx.Response
) -> None:
    service.on_read = outputs_at(service, {"media_1": output}, says(content))
    job = opened().submit("text-to-video", prompt="a", **CLIP).wait()
    elsewhere = f"{FILES}/a.mp4"
    is_elsewhere = content.headers.get("Location") == elsewhere
    assert job.url == (elsewhere if is_elsewhere else f"{API}/files/a.mp4")


def test_a_path_of_this_machine_as_an_output_uploads_and_reads_no_file(
    service: ServiceInMemory, opened: Open, tmp_path: Path
) -> None:
    private = make_png(tmp_path / "private.png")
    service.on_read = outputs_at(service, {"media_1": str(private)})
    client = opened()
    job = client.submit("text-to-image", prompt="bad").wait()

    assert job.url == f"{API}{private}"
    client.estimate("image-upscale", image_url=job)
    assert all(request.method != "PUT" for request in service.requests)


@pytest.mark.parametrize(
    ("url", "plain"),
    [
        (f" {FILES}/a.mp4\n", f"{FILES}/a.mp4"),
        (f"{FILES}/my clip.mp4?name=my clip", f"{FILES}/my%20clip.mp4?name=my%20clip"),
        (f"{FILES}/a\t.m\r\np4", f"{FILES}/a.mp4"),
    ],
)
def test_white_space_in_a_url_is_read_as_browsers_read_it(
    service: ServiceInMemory, opened: Open, tmp_path: Path, url: str, plain: str
) -> None:
    service.files["/my clip.mp4"] = service.files["/a.mp4"]
    service.on_read = outputs_at(service, {"media_1": url})
    client = opened()
    job = client.submit("text-to-image", prompt="a", take=1).wait()
    assert job.url == plain
    assert job.download(tmp_path).read_bytes() == service.files["/a.mp4"]
    assert client.history.frame().output_url.tolist() == [plain]

    # The same where only the content has it.
    content = says(httpx.Response(200, json={"url": url}))
    service.on_read = outputs_at(service, {"media_2": "/files/a.mp4"}, content)
    other = client.submit("text-to-image", prompt="b").wait()
    assert other.url == plain


@pytest.mark.parametrize("output", [None, {}, {"media_type": "video", "video": None}])
@pytest.mark.parametrize("error", [None, {"code": "content_moderation"}])
def test_a_completed_job_without_an_output_says_so(
    service: ServiceInMemory, opened: Open, tmp_path: Path, output: Any, error: Any
) -> None:
    completed = tells(**COMPLETED | {"output": output, "error": error})
    service.on_read = service.by_job(content=NO_CONTENT, media_1=completed)
    job = opened().submit("text-to-video", prompt="a", **CLIP).wait()
    with pytest.raises(mk.ConflictError) as caught:
        job.download(tmp_path)
    text = str(caught.value)
    assert "does not say where its output is" in text
    assert ("content_moderation" in text) == (error is not None)
    assert "It was charged $0.34" in text
    assert "Ask the service" in text
    assert "minute" not in text
