"""Functions from a service's OpenAPI document."""

from __future__ import annotations

import json
import ssl
from pathlib import Path
from typing import Any

import pytest
import trustme

import mediakit as mk
from mediakit.catalog import Catalog, Function
from mediakit.errors import InputError, ServiceError
from mediakit.sandbox.api.openapi import describe
from mediakit.schema import problems_in
from tests.spec import Case, accepted, refused
from tests.support.rows import assert_each
from tests.support.servers.scripted_server import (
    Script,
    ScriptedServer,
    answers,
    answers_always,
    hangs_up,
    json_page,
    page,
)

Json = dict[str, Any]
DECLARED = Catalog.default()
DOCUMENT: Json = json.loads(json.dumps(describe(DECLARED, "https://a.test")))
READ = Catalog.from_openapi(DOCUMENT, recognise=False)


def document_with(path: str, schema: object, **operation: Any) -> Json:
    content = {"application/json": {"schema": schema}}
    post = {"requestBody": {"content": content}, **operation}
    return {"openapi": "3.1.0", "paths": {path: {"post": post}}}


def without_extension(part: Any) -> Any:
    """Return the document in the style of another service."""
    if isinstance(part, dict):
        words = ("x-mediakit", "description", "title")
        return {
            name: without_extension(value)
            for name, value in part.items()
            if name not in words or not isinstance(value, str | dict)
        }
    return (
        [without_extension(item) for item in part] if isinstance(part, list) else part
    )


def test_a_described_function_has_the_fields_of_its_declaration() -> None:
    def check(path: str) -> None:
        declared, read = DECLARED.function(path), READ.function(path)
        assert read.declaration is not declared.declaration
        assert dict(read.fields) == dict(declared.fields)
        assert read.declared.closed is declared.declared.closed
        for name in ("kind", "media_type", "is_open", "doc"):
            assert getattr(read, name) == getattr(declared, name)

    assert_each([function.path for function in DECLARED], check)


def test_a_described_function_checks_bodies_as_its_declaration_does() -> None:
    def check(case: Case) -> None:
        body = case.body
        declared, read = DECLARED.function(case.kind), READ.function(case.kind)
        own = [[*problems_in(each.body, body)] for each in (read, declared)]
        assert own[0] == own[1]
        assert read.canonical_body(body) == declared.canonical_body(body)
        assert read.media(body) == declared.media(body)

    assert_each([*accepted(), *refused()], check)


@pytest.mark.parametrize("document", [DOCUMENT, without_extension(DOCUMENT)])
def test_a_function_is_recognised_by_its_kind_or_only_its_schema(
    document: Json,
) -> None:
    read = Catalog.from_openapi(document)

    assert [f.declaration for f in read] == [f.declaration for f in DECLARED]
    assert read.function("text-to-video").estimate({}).high == 340_000


def test_a_function_that_differs_is_made_from_its_schema() -> None:
    document = without_extension(DOCUMENT)
    schema = document["components"]["schemas"]["TextToVideo"]
    schema["properties"]["duration"]["maximum"] = 20
    function = Catalog.from_openapi(document).function("text-to-video")

    assert function.check({"prompt": "a", "duration": 20}) == []
    assert function.estimate({"prompt": "a"}).high is None


def test_only_submit_paths_become_functions() -> None:
    post: Json = {"post": {"requestBody": {}}}
    document = {
        "paths": {
            "/v1/media/uploads": post,
            "/v1/media/{vendor}/{model}/{function}": post,
            "/v1/media/jobs/{request_id}/content": post,
            "/v1/media/a/b/c": {"get": {}},
            "/v1/media/../../admin": post,
            "/v1/media/a/../c": post,
            "/v1/media/a/b?x=/c": post,
            "/v1/media/a/b/c/d": post,
            "/other/a/b/c": post,
            "/v1/media/acme/swift/make-music": post,
        }
    }
    [function] = Catalog.from_openapi(document)

    assert function.path == "acme/swift/make-music"
    assert (function.kind, function.media_type) == ("make-music", "audio")
    assert function.is_open


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({}, "POST /v1/media/vendor/model/function"),
        ({"paths": []}, "POST /v1/media/vendor/model/function"),
        ({"paths": {"/v1/media/uploads": {"post": {}}}}, "POST /v1/media/vendor/model"),
        ({"swagger": "2.0"}, r"version 3\.0 or 3\.1.*Swagger 2\.0"),
    ],
    ids=["empty", "list", "uploads", "swagger"],
)
def test_a_document_without_usable_functions_is_refused(
    document: Json, words: str
) -> None:
    with pytest.raises(InputError, match=words):
        Catalog.from_openapi(document)


def with_odd_bodies() -> Json:
    """Describe one supported function, and three with unsupported bodies."""
    prompt = {"type": "object", "properties": {"prompt": {"type": "string"}}}
    items = {"type": "array", "items": prompt}
    document = document_with("/v1/media/acme/swift/make-image", prompt)
    document["components"] = {"schemas": {"Many": items}}
    for name, schema in [
        ("batch", {"$ref": "#/components/schemas/Many"}),
        ("pairs", {"type": ["array", "null"], "items": items}),
        ("edit", None),
    ]:
        path = f"/v1/media/acme/swift/{name}"
        document["paths"] |= document_with(path, schema)["paths"]
    content = document["paths"]["/v1/media/acme/swift/edit"]["post"]["requestBody"]
    content["content"] = {"multipart/form-data": {"schema": prompt}}
    return document


def test_a_function_without_a_json_object_is_left_out_and_hides_no_other() -> None:
    catalog = Catalog.from_openapi(with_odd_bodies())

    assert [function.path for function in catalog] == ["acme/swift/make-image"]
    assert catalog.left_out == {
        "acme/swift/batch": "a JSON array",
        "acme/swift/pairs": "a JSON array",
        "acme/swift/edit": "multipart/form-data",
    }
    for name in ("acme/swift/edit", "edit"):
        with pytest.raises(InputError, match=r"acme/swift/edit takes multipart/form"):
            catalog.function(name)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"[]", "list"),
        (b"{", "not JSON"),
        (b'{"a": NaN}', "not JSON"),
        (b'{"a": 1e999}', "not JSON"),
        (b'{"a":' * 100_000, "nested too deeply|not JSON"),
        (b'{"a": "\\ud800"}', "not JSON"),
        (b"\x89PNG\xff\xfe", "not JSON"),
        (b"openapi: 3.1.0\npaths: {}\n", "not JSON.*YAML"),
        (b"# A service\n---\nswagger: '2.0'", "YAML"),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_a_file_that_is_not_a_json_object_is_refused_with_a_readable_error(
    content: bytes, words: str, tmp_path: Path
) -> None:
    (tmp_path / "document").write_bytes(content)
    with pytest.raises(InputError, match=words):
        Catalog.from_openapi(tmp_path / "document")


# -- references ----------------------------------------------------------------------

T2V: Json = {
    "type": "object",
    "required": ["prompt"],
    "properties": {
        "prompt": {"type": "string"},
        "duration": {"$ref": "#/$defs/Seconds"},
    },
    "$defs": {"Seconds": {"type": "integer", "maximum": 15}},
}
DREAM = "/v1/media/acme/dream/text-to-video"


def write(file: Path, content: Json) -> None:
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(content), "utf-8")


@pytest.mark.parametrize(
    "reference",
    ["t2v.json", "./schemas.json#/T2V", "parts/all.json#/oneOf/0", "up/.././t2v.json"],
)
def test_a_schema_in_a_file_beside_the_document_gives_the_fields(
    reference: str, tmp_path: Path
) -> None:
    document = tmp_path / "api" / "openapi.json"
    write(document, document_with(DREAM, {"$ref": reference}))
    write(document.parent / "t2v.json", T2V)
    write(
        document.parent / "schemas.json",
        {
            "T2V": {
                **T2V,
                "properties": {
                    "prompt": {"$ref": "t2v.json#/properties/prompt"},
                    "duration": {"$ref": "#/Seconds"},
                },
            },
            "Seconds": {"$ref": "./t2v.json#/$defs/Seconds"},
        },
    )
    write(document.parent / "parts" / "all.json", {"oneOf": [{"$ref": "../t2v.json"}]})

    [function] = Catalog.from_openapi(document)

    assert [*function.fields] == ["prompt", "duration"]
    fields = {
        problem.field for problem in function.check({"prompt": 5, "duration": 99})
    }
    assert fields == {"prompt", "duration"}


def test_an_operation_in_a_file_beside_the_document_is_a_function(
    tmp_path: Path,
) -> None:
    item = document_with(DREAM, {"$ref": "./t2v.json"})["paths"][DREAM]
    write(tmp_path / "paths" / "dream.json", item)
    write(tmp_path / "paths" / "t2v.json", T2V)
    write(tmp_path / "api.json", {"paths": {DREAM: {"$ref": "paths/dream.json"}}})

    [function] = Catalog.from_openapi(tmp_path / "api.json")

    assert [*function.fields] == ["prompt", "duration"]


@pytest.mark.parametrize(
    "reference",
    [
        "../outside.json",
        "link.json",
        "file:///{0}/outside.json",
        "{0}/outside.json",
        "https://schemas.acme.test/t2v.json",
        "notes.md",
        "gone.json",
        "inside.json#/Gone",
        "#/components/schemas/Gone",
    ],
)
def test_a_body_whose_schema_is_elsewhere_is_left_out_by_name(
    reference: str, tmp_path: Path
) -> None:
    reference = reference.format(tmp_path)
    write(tmp_path / "outside.json", T2V)
    document = tmp_path / "api" / "openapi.json"
    write(document.parent / "inside.json", {"T2V": T2V})
    (document.parent / "notes.md").write_text("# Notes", "utf-8")
    (document.parent / "link.json").symlink_to(tmp_path / "outside.json")
    whole = document_with(DREAM, {"$ref": reference})
    for name, schema in [("all", {"allOf": [T2V, {"$ref": reference}]}), ("t2v", T2V)]:
        whole["paths"] |= document_with(f"/v1/media/acme/dream/{name}", schema)["paths"]
    whole["paths"]["/v1/media/acme/dream/path"] = {"$ref": reference}
    body = {"requestBody": {"$ref": reference}}
    whole["paths"]["/v1/media/acme/dream/body"] = {"post": body}
    write(document, whole)

    catalog = Catalog.from_openapi(document)

    assert [function.path for function in catalog] == ["acme/dream/t2v"]
    assert {*catalog.left_out} == {
        f"acme/dream/{name}" for name in ("text-to-video", "all", "path", "body")
    }
    for text in catalog.left_out.values():
        assert reference[-20:] in text


def test_a_body_may_refer_to_definitions_of_its_own() -> None:
    schema = {
        "allOf": [{"$ref": "#/$defs/Body"}],
        "$defs": {"Body": T2V} | T2V["$defs"],
    }

    [function] = Catalog.from_openapi(document_with(DREAM, schema))

    assert [*function.fields] == ["prompt", "duration"]


def test_a_document_that_is_not_a_file_reads_no_files(tmp_path: Path) -> None:
    write(tmp_path / "t2v.json", T2V)
    document = document_with(DREAM, {"$ref": f"{tmp_path}/t2v.json"})

    assert not len(Catalog.from_openapi(document))
    assert not len(Catalog.from_openapi(json.dumps(document)))


def test_a_field_whose_schema_is_missing_is_named_in_a_warning() -> None:
    schema = {"properties": {"prompt": {}, "style": {"$ref": "./styles.json#/All"}}}

    with pytest.warns(
        UserWarning, match=r"acme/dream/text-to-video.*styles\.json#/All"
    ):
        [function] = Catalog.from_openapi(document_with(DREAM, schema))

    assert [*function.fields] == ["prompt", "style"]


def test_a_schema_that_only_refers_elsewhere_is_refused() -> None:
    with pytest.raises(InputError, match=r"t2v\.json"):
        Function.from_schema("acme/dream/text-to-video", {"$ref": "t2v.json"})


# -- paths -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "servers"),
    [
        ("/media/acme/dream/text-to-video", [{"url": "https://api.acme.test/v1"}]),
        ("/media/acme/dream/text-to-video", [{"url": "/"}, {"url": "/gate/v1/"}]),
        (
            "/media/acme/dream/text-to-video",
            [
                {
                    "url": "https://{host}/{version}",
                    "variables": {"version": {"default": "v1"}},
                }
            ],
        ),
        ("/acme/dream/text-to-video", [{"url": "https://api.acme.test/v1/media"}]),
        ("/media-api/v1/media/acme/dream/text-to-video", []),
        ("/media-api/v1/media/acme/dream/text-to-video", [{"url": "http://[::1"}]),
    ],
)
def test_a_path_is_found_below_its_server_and_behind_a_prefix(
    path: str, servers: list[Json]
) -> None:
    document = document_with(path, T2V)
    inner = document_with(path, T2V, servers=servers)

    for each in ({**document, "servers": servers}, inner):
        [function] = Catalog.from_openapi(each)
        assert function.path == "acme/dream/text-to-video"


def test_the_refusal_of_a_document_names_a_path_that_it_has() -> None:
    with pytest.raises(InputError, match=r"POST .?/generate/video"):
        Catalog.from_openapi(document_with("/generate/video", T2V))


@pytest.mark.parametrize("source", [[], None, 5, b"{}", [DOCUMENT]], ids=repr)
def test_a_value_that_is_not_a_document_is_rejected(source: Any) -> None:
    with pytest.raises(InputError, match="a JSON object, or its text, file or"):
        Catalog.from_openapi(source)


@pytest.mark.parametrize(
    "text",
    [
        "openapi: 3.1.0\npaths: {}\n",
        "info:\n  title: A\n",
        '"openapi": "3.0"\npaths:\n',
    ],
)
def test_yaml_is_refused_with_the_advice_to_convert_it(
    text: str, tmp_path: Path
) -> None:
    (tmp_path / "openapi.yaml").write_text(text, "utf-8")
    for source in (text, tmp_path / "openapi.yaml"):
        with pytest.raises(InputError, match="convert it to JSON"):
            Catalog.from_openapi(source)


def test_a_text_is_read_and_a_truncated_one_is_rejected() -> None:
    assert len(Catalog.from_openapi(f"\n {json.dumps(DOCUMENT)}")) == len(DECLARED)
    with pytest.raises(InputError, match="the text, which is not JSON"):
        Catalog.from_openapi(json.dumps(DOCUMENT)[:-1])


def test_a_file_is_read_and_an_unreadable_one_is_named(tmp_path: Path) -> None:
    (tmp_path / "good.json").write_text(json.dumps(DOCUMENT), "utf-8")

    assert len(Catalog.from_openapi(str(tmp_path / "good.json"))) == len(DECLARED)
    for name, words in [("missing.json", "missing.json"), ("a\0b", "null")]:
        with pytest.raises(InputError, match=words):
            Catalog.from_openapi(tmp_path / name)


# -- from a URL ----------------------------------------------------------------------


def test_a_url_is_requested_without_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEDIAKIT_API_KEY", "secret-0123")
    refused = page(status="401 No")
    with ScriptedServer(answers(json_page(DOCUMENT)), answers(refused)) as server:
        assert len(Catalog.from_openapi(server.base_url)) == len(DECLARED)
        with pytest.raises(InputError, match="returned 401"):
            Catalog.from_openapi(server.base_url)

    assert len(server.requests) == 2
    assert b"secret" not in server.requests[0]


def test_certificates_of_the_environment_are_trusted_on_loopback_and_no_proxy_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(tls)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:1")
    with ScriptedServer(answers(json_page(DOCUMENT)), tls=tls) as server:
        assert len(Catalog.from_openapi(server.base_url)) == len(DECLARED)


def test_unusable_settings_that_a_document_url_does_not_need_are_ignored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "socks://127.0.0.1:1")
    monkeypatch.setenv("NO_PROXY", "fd07:b51a::/64,[::1]:8080")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "gone.pem"))
    monkeypatch.setenv("SSLKEYLOGFILE", str(tmp_path / "gone" / "keys.log"))
    moved = page(b"", "Location: /there.json", status="302 Found")
    with ScriptedServer(answers(moved), answers(json_page(DOCUMENT))) as server:
        assert len(Catalog.from_openapi(server.base_url)) == len(DECLARED)


def test_a_document_is_requested_through_the_proxy_beside_odd_entries(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with ScriptedServer(answers(json_page(DOCUMENT))) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.base_url)
        monkeypatch.setenv("ALL_PROXY", "socks://127.0.0.1:1")
        monkeypatch.setenv("NO_PROXY", "fd07:b51a::/64,[::1]:8080")
        url = "http://media.example/openapi.json"
        assert len(Catalog.from_openapi(url)) == len(DECLARED)

    assert proxy.requests[0].startswith(f"GET {url} ".encode())


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("HTTPS_PROXY", "socks://127.0.0.1:1080"),
        ("SSL_CERT_FILE", "/gone/ca.pem"),
        ("SSLKEYLOGFILE", "/gone/keys.log"),
    ],
)
def test_a_variable_that_the_url_of_a_document_needs_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    url = "https://media.test/openapi.json"
    with pytest.raises(ServiceError, match=f"{name}={value}"):
        Catalog.from_openapi(url)
    (tmp_path / "mediakit.toml").write_text(f'openapi = "{url}"\n')
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ServiceError, match=f"{name}={value}"):
        mk.connect("https://media.test", "key-0123456789", home=tmp_path)


@pytest.mark.parametrize(
    ("script", "words"),
    [
        (answers_always(page(b"", "Location: /again", status="302 On")), "redirects"),
        (hangs_up, "a URL that answers"),
    ],
)
def test_a_url_that_does_not_respond_is_rejected(script: Script, words: str) -> None:
    with ScriptedServer(script) as server, pytest.raises(InputError, match=words):
        Catalog.from_openapi(server.base_url)
