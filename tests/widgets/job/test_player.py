import pytest

from mediakit.web_urls import web_url
from mediakit.widgets.job.player import (
    Embedded,
    Still,
    browser_url,
    fitted,
    player_html,
)
from tests.support.job_states import URL, Markup
from tests.support.samples.media_samples import make_picture

HUB = {"JUPYTERHUB_SERVICE_PREFIX": "/user/ann/"}


@pytest.fixture(scope="module")
def still(tmp_path_factory: pytest.TempPathFactory) -> Still:
    path = tmp_path_factory.mktemp("still") / "still.jpg"
    make_picture((320, 180)).save(path)
    return Still(path.read_bytes(), "a kite")


def test_a_video_has_its_source_on_the_tag_and_no_source_element() -> None:
    html = player_html(URL, "video", "video/quicktime", "h264")
    video = Markup(html).first("video")
    assert video is not None
    assert video["src"] == URL
    assert video["preload"] == "metadata"
    assert {"controls", "playsinline"} <= set(video)
    assert "type" not in video
    assert "<source" not in html
    assert "quicktime" not in html


@pytest.mark.parametrize(
    ("medium", "content_type", "tag", "words"),
    [
        ("video", "", "video", "Open the video in a new tab"),
        ("image", "", "img", "Open the picture in a new tab"),
        ("audio", "", "audio", "Open the sound in a new tab"),
        ("hologram", "", None, "Open the result in a new tab"),
        ("", "video/mp4", "video", "Open the video in a new tab"),
    ],
)
def test_a_result_is_shown_by_its_media_type_above_a_plain_link(
    medium: str, content_type: str, tag: str | None, words: str
) -> None:
    page = Markup(player_html(URL, medium, content_type))
    for each in ("video", "img", "audio"):
        assert (page.first(each) is not None) is (each == tag)
    if tag:
        assert (page.first(tag) or {})["src"] == URL
    _, link = [each for each in page.tags if each[0] == "a"][-1]
    assert (link["href"], link["target"]) == (URL, "_blank")
    assert link["rel"] == "noopener noreferrer"
    assert words in page.text


@pytest.mark.parametrize(
    ("codec", "may_stay_black"),
    [
        *((codec, True) for codec in ("hevc", "prores", "mpeg4", "mjpeg")),
        *((codec, False) for codec in ("h264", "vp9", "av1", None)),
    ],
)
def test_a_codec_that_browsers_may_not_show_causes_a_note(
    codec: str | None, *, may_stay_black: bool
) -> None:
    page = Markup(player_html(URL, "video", "video/mp4", codec))
    assert ("The file is " in page.text) is may_stay_black
    assert ("Open the original video" in page.text) is may_stay_black
    assert URL in page.addresses()


def test_a_still_is_the_poster_and_stands_where_the_player_is_stripped(
    still: Still,
) -> None:
    html = player_html(URL, "video", still=still)
    video, inside = Markup(html).first("video"), Markup(html).first("img")
    assert video is not None
    assert inside is not None
    assert video["poster"] == inside["src"] == still.uri
    assert html.index("<video") < html.index("<img") < html.index("</video>")


def test_a_player_keeps_the_shape_of_its_result_before_it_is_loaded(
    still: Still,
) -> None:
    video = Markup(player_html(URL, "video", still=still)).first("video")
    assert video is not None
    assert (video["width"], video["height"]) == ("320", "180")
    assert "max-width:100%" in (video["style"] or "")
    assert "height:auto" in (video["style"] or "")
    assert "max-height:320px" in player_html(URL, "video")  # its shape is not known
    assert fitted((9, 16), 640) == (360, 640)
    assert fitted((100, 100_000), 320) == (1, 320)  # it never vanishes


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        "JaVaScRiPt:alert(1)",
        " javascript:alert(1)",
        "java\nscript:alert(1)",
        "data:text/html,<script>canary()</script>",
        "file:///etc/passwd",
        "ftp://media.test/x.mp4",
        "//media.test/x.mp4",
        "/x.mp4",
        "http://",
        "https://media.test:0/x.mp4",
        "https://media.test:99999/x.mp4",
        "https://media.test/a b.mp4",
        "https://media.test/\x00x.mp4",
        "http://[::1/x.mp4",
        "",
    ],
)
def test_only_web_addresses_become_links_or_players(url: str) -> None:
    assert web_url(url) is None
    page = Markup(player_html(url, "video"))
    assert page.addresses() == []
    assert page.first("video") is None
    assert "not a web address" in page.text


@pytest.mark.parametrize(
    ("url", "seen"),
    [
        *(
            (
                f"http://{host}:8123/files/a%20b.mp4?x=1&y=2",
                "/user/ann/proxy/8123/files/a%20b.mp4?x=1&y=2",
            )
            for host in ("127.0.0.1", "localhost", "[::1]")
        ),
        ("http://localhost", "/user/ann/proxy/80/"),
        ("https://localhost/x", "/user/ann/proxy/443/x"),
        (URL, URL),
    ],
)
def test_behind_a_hub_the_loopback_goes_through_its_proxy(url: str, seen: str) -> None:
    assert browser_url(url, HUB) == seen
    assert browser_url(url) == url


def test_the_player_and_its_link_go_through_the_proxy_too() -> None:
    html = player_html("http://127.0.0.1:8123/x.mp4", "video", environment=HUB)
    assert set(Markup(html).addresses()) == {"/user/ann/proxy/8123/x.mp4"}


# -- what is part of the notebook --------------------------------------------------


@pytest.mark.parametrize(
    ("medium", "content_type", "start"),
    [
        ("video", "video/mp4", "data:video/mp4;base64,"),
        ("video", "video/quicktime", "data:video/mp4;base64,"),
        ("video", 'video/mp4"><script>', "data:video/mp4;base64,"),
        ("image", "image/webp", "data:image/webp;base64,"),
        ("audio", "", "data:audio/mpeg;base64,"),
        ("hologram", "", "data:application/octet-stream;base64,"),
    ],
)
def test_an_embedded_result_has_a_type_that_browsers_try(
    medium: str, content_type: str, start: str
) -> None:
    embedded = Embedded(b"bytes", medium, content_type)
    assert embedded.uri == start + "Ynl0ZXM="


def test_an_embedded_result_says_its_size_and_links_to_the_original(
    still: Still,
) -> None:
    embedded = Embedded(bytes(1_500_000), "video", "video/mp4")
    page = Markup(player_html(URL, "video", still=still, embedded=embedded))
    video = page.first("video")
    assert video is not None
    assert video["src"] == embedded.uri
    assert "2.0 MB, 1.33 times the file's 1.5 MB." in page.text
    assert URL in page.addresses()


def test_an_embedded_copy_is_called_a_copy() -> None:
    copy = Embedded(bytes(30_000), "video", is_copy=True)
    assert copy.note == (
        "Embedded in this notebook: 40 kB, 1.33 times the small copy's 30 kB."
    )
    page = Markup(player_html(URL, "video", codec="hevc", embedded=copy))
    assert page.first("video") is not None
    assert "Open the original video" in page.text


@pytest.mark.parametrize(("medium", "tag"), [("image", "img"), ("audio", "audio")])
def test_an_embedded_result_is_the_whole_one(
    medium: str, tag: str, still: Still
) -> None:
    embedded = Embedded(b"the whole", medium)
    page = Markup(player_html(URL, medium, still=still, embedded=embedded))
    assert (page.first(tag) or {})["src"] == embedded.uri
