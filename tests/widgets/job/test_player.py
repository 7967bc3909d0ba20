import pytest

from mediakit.widgets.job.player import (
    Embedded,
    Still,
    browser_url,
    fitted,
    player_html,
    web_url,
)
from tests.support.job_states import HOSTILE, URL, Markup
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


def test_every_result_has_a_plain_link_that_opens_a_new_tab() -> None:
    for media_type, words in [
        ("video", "Open the video in a new tab"),
        ("image", "Open the picture in a new tab"),
        ("audio", "Open the sound in a new tab"),
        ("hologram", "Open the result in a new tab"),
    ]:
        page = Markup(player_html(URL, media_type))
        _, link = [tag for tag in page.tags if tag[0] == "a"][-1]
        assert link["href"] == URL
        assert link["target"] == "_blank"
        assert link["rel"] == "noopener noreferrer"
        assert words in page.text


def test_a_picture_is_shown_as_a_picture_and_a_sound_as_a_sound() -> None:
    picture = Markup(player_html("https://media.test/x.png", "image")).first("img")
    assert picture is not None
    assert picture["src"] == "https://media.test/x.png"
    assert picture["alt"]
    sound = Markup(player_html("https://media.test/x.mp3", "audio")).first("audio")
    assert sound is not None
    assert sound["src"] == "https://media.test/x.mp3"


def test_the_content_type_tells_the_medium_where_the_media_type_does_not() -> None:
    assert Markup(player_html(URL, "", "video/mp4")).first("video") is not None
    assert Markup(player_html(URL, "", None)).first("video") is None


@pytest.mark.parametrize("codec", ["hevc", "prores", "mpeg4", "mjpeg"])
def test_a_codec_that_may_stay_black_is_said_in_words(codec: str) -> None:
    page = Markup(player_html(URL, "video", "video/mp4", codec))
    assert "The file is " in page.text
    assert "Open the original video" in page.text
    assert URL in page.addresses()


@pytest.mark.parametrize("codec", ["h264", "vp9", "av1", None])
def test_a_codec_that_plays_gets_no_warning(codec: str | None) -> None:
    assert "The file is " not in player_html(URL, "video", "video/mp4", codec)


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
    by_still = Markup(player_html(URL, "video", still=still, max_px=640)).first("video")
    by_shape = Markup(player_html(URL, "video", shape=(9, 16))).first("video")
    assert by_still is not None
    assert by_shape is not None
    assert (by_still["width"], by_still["height"]) == ("640", "360")
    assert (by_shape["width"], by_shape["height"]) == ("360", "640")
    assert "max-width:100%" in (by_shape["style"] or "")
    assert "height:auto" in (by_shape["style"] or "")


def test_a_result_of_unknown_shape_is_bounded_anyway() -> None:
    assert "max-height:640px" in player_html(URL, "video")


def test_fitting_keeps_the_shape_and_never_vanishes() -> None:
    assert fitted((1280, 720), 320) == (320, 180)
    assert fitted((100, 100_000), 320) == (1, 320)


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


@pytest.mark.parametrize("media_type", ["video", "image", "audio", "hologram"])
def test_a_hostile_address_stays_an_address(media_type: str) -> None:
    url = 'https://media.test/"onerror="canary()"><script>canary()</script>.mp4'
    page = Markup(player_html(url, media_type))
    assert set(page.addresses()) == {url}
    assert page.first("script") is None
    assert not any(name.startswith("on") for _, attrs in page.tags for name in attrs)


def test_hostile_words_for_a_still_stay_words(still: Still) -> None:
    page = Markup(player_html(URL, "image", still=Still(still.jpeg, HOSTILE)))
    picture = page.first("img")
    assert picture is not None
    assert picture["alt"] == HOSTILE
    assert page.first("script") is None


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]"])
def test_behind_a_hub_the_loopback_goes_through_its_proxy(host: str) -> None:
    url = f"http://{host}:8123/files/a%20b.mp4?x=1&y=2"
    assert browser_url(url, HUB) == "/user/ann/proxy/8123/files/a%20b.mp4?x=1&y=2"


def test_behind_a_hub_a_default_port_and_an_empty_path_are_spelled_out() -> None:
    assert browser_url("http://localhost", HUB) == "/user/ann/proxy/80/"
    assert browser_url("https://localhost/x", HUB) == "/user/ann/proxy/443/x"


def test_without_a_hub_or_for_the_hosted_service_an_address_stays_as_it_is() -> None:
    assert browser_url("http://127.0.0.1:8123/x.mp4") == "http://127.0.0.1:8123/x.mp4"
    assert browser_url(URL, HUB) == URL


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
def test_what_is_embedded_has_a_type_that_browsers_try(
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


def test_an_embedded_picture_is_the_whole_one(still: Still) -> None:
    embedded = Embedded(b"the whole", "image", "image/png")
    picture = Markup(player_html(URL, "image", still=still, embedded=embedded))
    shown = picture.first("img")
    assert shown is not None
    assert (shown["src"], shown["alt"]) == (embedded.uri, "a kite")


def test_an_embedded_sound_plays(still: Still) -> None:
    embedded = Embedded(b"la", "audio", "audio/wav")
    sound = Markup(player_html(URL, "audio", embedded=embedded)).first("audio")
    assert sound is not None
    assert sound["src"] == embedded.uri
