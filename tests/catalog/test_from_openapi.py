"""Functions from a service's OpenAPI document."""

from __future__ import annotations

import json
import ssl
from pathlib import Path
from typing import Any

import pytest
import trustme

from mediakit.catalog import Catalog
from mediakit.errors import InputError
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
    """Return the document as another service might write it."""
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
def test_a_function_is_recognised_by_its_kind_or_by_its_schema_alone(
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
    """Describe one function that can be offered, and three whose bodies are odd."""
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


def test_a_text_is_read_and_one_that_is_cut_off_is_refused() -> None:
    assert len(Catalog.from_openapi(f"\n {json.dumps(DOCUMENT)}")) == len(DECLARED)
    with pytest.raises(InputError, match="the text, which is not JSON"):
        Catalog.from_openapi(json.dumps(DOCUMENT)[:-1])


def test_a_file_is_read_and_one_that_cannot_be_is_named(tmp_path: Path) -> None:
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
        with pytest.raises(InputError, match="answers 401"):
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


@pytest.mark.parametrize(
    ("script", "words"),
    [
        (answers_always(page(b"", "Location: /again", status="302 On")), "redirects"),
        (hangs_up, "a URL that answers"),
    ],
)
def test_a_url_without_an_answer_is_refused(script: Script, words: str) -> None:
    with ScriptedServer(script) as server, pytest.raises(InputError, match=words):
        Catalog.from_openapi(server.base_url)
