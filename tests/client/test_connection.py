import json
import os
from contextlib import chdir
from pathlib import Path
from typing import Any
from unittest.mock import patch

import httpx
import pytest

from mediakit import Client, connect
from mediakit.backend import Settings, find_backend
from mediakit.catalog import Catalog, Function
from mediakit.client import Service
from mediakit.errors import InputError, NotFoundError, ServiceError
from mediakit.sandbox.server.running import RunningSandbox, start_embedded
from tests.support.servers.scripted_server import ScriptedServer, answers_always, page

URL, KEY = "https://api.media.test", "key-0123456789"


def read(folder: Path, **environ: str) -> Settings:
    """Read the settings in a folder, with these environment variables."""
    with chdir(folder), patch.dict(os.environ, environ):
        return Settings.read()


def test_the_environment_names_the_service_the_home_and_the_history(
    tmp_path: Path,
) -> None:
    settings = read(
        tmp_path,
        MEDIAKIT_BASE_URL=URL,
        MEDIAKIT_API_KEY=KEY,
        MEDIAKIT_HOME=str(tmp_path / "home"),
        MEDIAKIT_HISTORY="postgresql://team/history",
    )

    assert settings.base_url == URL
    assert settings.home == tmp_path / "home"
    assert settings.history == "postgresql://team/history"


def test_settings_do_not_show_the_key(tmp_path: Path) -> None:
    settings = read(tmp_path, MEDIAKIT_BASE_URL=URL, MEDIAKIT_API_KEY=KEY)

    assert KEY not in repr(settings)
    assert KEY not in repr(find_backend(settings))


@pytest.mark.parametrize("content", [b"<html>Sign in", b'{"signed_in": false}', b"[]"])
def test_a_page_that_returns_200_for_every_path_is_not_taken_for_a_service(
    content: bytes, tmp_path: Path
) -> None:
    with (
        ScriptedServer(answers_always(page(content))) as server,
        pytest.raises(ServiceError) as caught,
    ):
        connect(server.base_url, KEY, home=tmp_path)
    assert "document" not in str(caught.value)


@pytest.mark.parametrize(
    ("environ", "field", "words"),
    [
        ({"MEDIAKIT_BASE_URL": URL}, "api_key", "MEDIAKIT_API_KEY"),
        ({"MEDIAKIT_API_KEY": KEY}, "base_url", "MEDIAKIT_BASE_URL"),
        (
            {"MEDIAKIT_BASE_URL": "api.media.test", "MEDIAKIT_API_KEY": KEY},
            "base_url",
            "http",
        ),
    ],
)
def test_an_incomplete_setting_of_a_service_is_rejected_and_the_missing_one_named(
    tmp_path: Path, environ: dict[str, str], field: str, words: str
) -> None:
    with pytest.raises(InputError, match=words) as caught:
        read(tmp_path, **environ)

    assert caught.value.field == field
    assert KEY not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "https://api.example",
        "https://api.example/",
        "HTTPS://API.example",
        "https://api.example:443",
        " https://api.example ",
    ],
)
def test_a_service_is_the_same_however_its_url_is_spelled(url: str) -> None:
    service = Service(url, "key-0123456789")
    assert service.base_url == service.identity == "https://api.example"


@pytest.mark.parametrize(
    "url",
    [
        "api.example",
        "ftp://api.example",
        "http://",
        "http://a:port",
        "http://a:99999",
        "http://[::1",
    ],
)
def test_an_invalid_service_url_is_rejected_with_a_readable_message(url: str) -> None:
    for make in (Settings.read, Service):
        with pytest.raises(InputError, match=r"^base_url must be .*an http\(s\) URL"):
            make(url, "key-0123456789")


def test_a_key_that_is_not_text_is_rejected_without_being_shown() -> None:
    with pytest.raises(InputError, match=r"^api_key must be .* as text") as caught:
        Settings.read(URL, 123456789)  # type: ignore[arg-type]
    assert "123456789" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("https://api.example?key=s3cret", "got a URL with a query"),
        ("https://api.example/media#s3cret", "got a URL with a query"),
        ("https://ann:s3cret@api.example", "MEDIAKIT_API_KEY"),
        ("http://s3cret@127.0.0.1:9", "MEDIAKIT_API_KEY"),
        ("sk-s3cret", r"base_url must be an http\(s\) URL"),
    ],
)
def test_a_base_url_with_a_secret_is_refused_without_being_shown(
    url: str, words: str
) -> None:
    for make in (Settings.read, Service, Client):
        with pytest.raises(InputError, match=words) as caught:
            make(url, KEY)
        assert not any(each in str(caught.value) for each in ("s3cret", "ann:"))


@pytest.mark.parametrize("key", [f'"{KEY}"', f"'{KEY}'", f'{KEY}"', f"`{KEY}`"])
def test_a_key_in_quotes_is_refused_without_being_shown(key: str) -> None:
    for make in (Settings.read, Service):
        with pytest.raises(InputError, match=r"without quotes.*in quotes") as caught:
            make(URL, key)
        assert KEY not in str(caught.value)


@pytest.mark.parametrize(
    ("path", "hint"),
    [
        ("/v1", r"Is the base URL http://127.0.0.1:\d+, without /v1\?"),
        ("/v1/media/", r"Is the base URL http://127.0.0.1:\d+, without /v1/media\?"),
        ("/api/v1", r"Is the base URL http://127.0.0.1:\d+/api, without /v1\?"),
        ("", r"Check the base URL, http://127.0.0.1:\d+: is a path prefix missing"),
    ],
)
@pytest.mark.parametrize(
    "body", [b"<html><h1>404 Not Found", b"{}", b'{"message":"x"}']
)
def test_a_service_without_a_balance_suggests_checking_the_base_url(
    path: str, hint: str, body: bytes, tmp_path: Path
) -> None:
    missing = answers_always(page(body, status="404 Not Found"))
    with ScriptedServer(missing) as server, pytest.raises(NotFoundError, match=hint):
        connect(server.base_url + path, KEY, home=tmp_path)


@pytest.mark.parametrize("argument", ["home", "history", "catalog", "project"])
def test_a_setting_of_the_wrong_kind_is_refused_by_its_name(
    sandbox: RunningSandbox, tmp_path: Path, argument: str
) -> None:
    settings: dict[str, Any] = {"home": tmp_path, argument: 5}
    with pytest.raises(InputError, match=rf"^{argument} must be "):
        Client(sandbox.base_url, sandbox.api_key, **settings)


def test_a_file_binds_kinds_to_the_paths_of_a_service(tmp_path: Path) -> None:
    (tmp_path / "mediakit.toml").write_text(
        '[functions]\n"text-to-video" = "acme/swift-2/text-to-video"\n', "utf-8"
    )
    backend = find_backend(read(tmp_path, MEDIAKIT_BASE_URL=URL, MEDIAKIT_API_KEY=KEY))

    assert (
        backend.catalog.function("text-to-video").path == "acme/swift-2/text-to-video"
    )
    assert not backend.is_sandbox
    with pytest.raises(InputError, match="bind this one"):
        backend.catalog.function("r1")


def test_a_hosted_service_without_bindings_has_no_functions(tmp_path: Path) -> None:
    backend = find_backend(read(tmp_path, MEDIAKIT_BASE_URL=URL, MEDIAKIT_API_KEY=KEY))

    assert len(backend.catalog) == 0
    assert backend.service.label == "api.media.test"
    assert backend.service.account not in (KEY, "")
    with Client(URL, KEY, home=tmp_path) as client:
        assert len(client.catalog) == 0
        with pytest.raises(InputError, match=r"mediakit\.toml.* Nothing was sent"):
            client.submit("text-to-video", prompt="a kite")
        with pytest.raises(InputError, match=r"mediakit\.toml"):
            client.estimate("text-to-video", prompt="a kite")


DUB = {"type": "object", "properties": {"prompt": {"type": "string"}}}
SERVICE = {
    "paths": {
        f"/v1/media/acme/{path}": {
            "post": {"requestBody": {"content": {"application/json": {"schema": DUB}}}}
        }
        for path in ("swift-2/dub", "grand-1/text-to-video")
    }
}


def write(folder: Path, text: str) -> None:
    (folder / "mediakit.toml").write_text(text, "utf-8")


def hosted(folder: Path) -> Catalog:
    settings = read(folder, MEDIAKIT_BASE_URL=URL, MEDIAKIT_API_KEY=KEY)
    return find_backend(settings).catalog


def test_rates_of_the_file_price_by_kind_and_by_path(tmp_path: Path) -> None:
    write(
        tmp_path,
        """
        [functions]
        text-to-image = ["a/one/text-to-image", "a/two/text-to-image"]
        [rates.text-to-image]
        usd_per_request = "0.04"
        [rates."a/two/text-to-image"]
        usd_per_request = 0.07
        """,
    )
    catalog = hosted(tmp_path)

    assert catalog.function("a/one/text-to-image").estimate({}).high == 40_000
    assert catalog.function("a/two/text-to-image").estimate({}).high == 70_000


def test_a_service_is_described_by_its_own_document(tmp_path: Path) -> None:
    (tmp_path / "service.json").write_text(json.dumps(SERVICE), "utf-8")
    write(
        tmp_path,
        """
        openapi = "service.json"
        [functions]
        text-to-video = "acme/grand-1/text-to-video"
        [rates.dub]
        usd_per_request = "0.5"
        """,
    )
    catalog = hosted(tmp_path)

    assert [f.path for f in catalog] == [
        "acme/swift-2/dub",
        "acme/grand-1/text-to-video",
    ]
    # Bindings in the file override the document.
    assert catalog.function("text-to-video").estimate({}).high == 340_000
    assert catalog.function("dub").estimate({"prompt": "a"}).high == 500_000


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("functions = 5", "functions"),
        ("[function]\nr1 = 'a/b/c'", "did you mean functions"),
        ("[functions]\nr1 = 5", r"functions\.r1"),
        ("[functions]\nr1 = []", r"functions\.r1"),
        ("[functions]\nr1 = [5]", r"functions\.r1"),
        ("[functions]\nr1 = 'a/b'", r"functions\.r1 must be"),
        ("[functions]\nr1 = 'a/../c'", r"functions\.r1"),
        ("[functions]\nr99 = 'a/b/c'", "functions must be"),
        ("rates = 'none'", "rates"),
        ("[rates]\nr5 = 5", r"rates\.r5 must be an object with usd_per_request"),
        ("[rates.r5]\nusd = '1'", r"rates\.r5\.usd is not a known field"),
        ("[rates.r5]\nusd_per_second = 'much'", r"usd_per_second must be"),
        ("[rates.r99]\nusd_per_second = '1'", "rates must be"),
        ("openapi = 5", "openapi"),
        ("openapi = 'missing.json'", "missing.json"),
        ("openapi = 'http://127.0.0.1:1/openapi.json'", "127.0.0.1:1"),
    ],
)
def test_a_wrong_table_is_refused_with_its_file_and_key(
    tmp_path: Path, text: str, words: str
) -> None:
    write(tmp_path, text)

    with pytest.raises(InputError, match=words) as caught:
        hosted(tmp_path)
    assert str(caught.value).startswith(str(tmp_path / "mediakit.toml"))


def test_a_sandbox_at_a_url_lists_its_own_functions(
    sandbox: RunningSandbox, tmp_path: Path
) -> None:
    write(
        tmp_path,
        """
        [functions]
        r5 = "acme/fast/reference-to-video"
        [rates.text-to-image]
        usd_per_request = "0.04"
        [rates."acme/fast/reference-to-video"]
        usd_per_second = "0.1"
        """,
    )
    settings = read(
        tmp_path, MEDIAKIT_BASE_URL=sandbox.base_url, MEDIAKIT_API_KEY=sandbox.api_key
    )
    backend = find_backend(settings)

    assert backend.is_sandbox
    assert {f.path for f in backend.catalog} == {f.path for f in Catalog.default()}
    assert backend.catalog.function("text-to-image").estimate({}).high == 40_000


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (200, {"identity": "sandbox:1"}, True),
        (503, {"identity": "sandbox:1", "problems": ["its disk is full"]}, True),
        (200, {"message": "something else"}, False),
        (401, {"message": "a gateway"}, False),
        (503, {"message": "a gateway"}, False),
    ],
)
def test_a_sandbox_is_recognised_by_its_identity_even_while_it_is_unhealthy(
    tmp_path: Path, status: int, body: dict[str, Any], *, expected: bool
) -> None:
    settings = read(
        tmp_path, MEDIAKIT_BASE_URL="http://127.0.0.1:1", MEDIAKIT_API_KEY=KEY
    )
    answering = httpx.MockTransport(lambda asked: httpx.Response(status, json=body))

    backend = find_backend(settings, Catalog.default(), answering)

    assert backend.is_sandbox == expected


def test_the_embedded_sandbox_serves_and_charges_the_callers_catalog(
    tmp_path: Path,
) -> None:
    write(tmp_path, "[rates.text-to-image]\nusd_per_request = '0.04'\n")
    settings = read(tmp_path, MEDIAKIT_HOME=str(tmp_path / "home"))
    catalog = find_backend(settings).catalog
    running = start_embedded(tmp_path / "home" / "sandbox")
    try:
        with Client(
            running.base_url, running.api_key, home=tmp_path, catalog=catalog
        ) as client:
            job = client.run("text-to-image", prompt="a kite")
            assert job.settle().charge_micro_usd == 40_000
        # It is already running, so it does not know functions that are added later.
        dub = Function.from_schema("acme/swift-2/dub", DUB)
        with pytest.raises(ServiceError, match="does not serve acme/swift-2/dub"):
            find_backend(settings, Catalog.default().including(dub))
    finally:
        running.stop()


def test_several_models_of_a_kind_are_bound_side_by_side(tmp_path: Path) -> None:
    write(tmp_path, '[functions]\nr5 = ["a/fast/r2v", "a/good/r2v"]\nr6 = "a/b/c"\n')
    catalog = hosted(tmp_path)

    assert [f.path for f in catalog] == ["a/fast/r2v", "a/good/r2v", "a/b/c"]
    assert catalog.function("a/good/r2v").kind == "r5"
    with pytest.raises(InputError, match="one of the paths a/fast/r2v or a/good/r2v"):
        catalog.function("r5")
