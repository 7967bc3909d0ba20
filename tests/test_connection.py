from pathlib import Path

import pytest

from mediakit.connection import Settings, locate
from mediakit.errors import InputError

URL, KEY = "https://api.media.test", "key-0123456789"


def read(folder: Path, **environ: str) -> Settings:
    return Settings.read(environ=environ, folder=folder)


def test_arguments_come_before_the_environment(tmp_path: Path) -> None:
    environ = {"MEDIAKIT_BASE_URL": "https://b.test", "MEDIAKIT_API_KEY": "b"}
    settings = Settings.read(URL, KEY, home=tmp_path, environ=environ, folder=tmp_path)

    assert (settings.base_url, settings.api_key) == (URL, KEY)
    assert settings.history == tmp_path / "history.sqlite3"


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
    assert KEY not in repr(locate(settings))


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
def test_half_a_service_is_refused_with_what_is_missing(
    tmp_path: Path, environ: dict[str, str], field: str, words: str
) -> None:
    with pytest.raises(InputError, match=words) as caught:
        read(tmp_path, **environ)

    assert caught.value.field == field
    assert KEY not in str(caught.value)


def test_a_file_binds_kinds_to_the_paths_of_a_service(tmp_path: Path) -> None:
    (tmp_path / "mediakit.toml").write_text(
        '[functions]\n"text-to-video" = "acme/swift-2/text-to-video"\n', "utf-8"
    )
    place = locate(read(tmp_path, MEDIAKIT_BASE_URL=URL, MEDIAKIT_API_KEY=KEY))

    assert place.catalog.function("text-to-video").path == "acme/swift-2/text-to-video"
    assert not place.is_sandbox
    with pytest.raises(InputError, match="bind this one"):
        place.catalog.function("r1")


def test_a_broken_bindings_file_is_named_in_the_error(tmp_path: Path) -> None:
    (tmp_path / "mediakit.toml").write_text("[functions\n", "utf-8")

    with pytest.raises(InputError, match=r"mediakit\.toml"):
        read(tmp_path)


def test_a_hosted_service_without_bindings_has_no_functions(tmp_path: Path) -> None:
    place = locate(read(tmp_path, MEDIAKIT_BASE_URL=URL, MEDIAKIT_API_KEY=KEY))

    assert len(place.catalog) == 0
    assert place.service.label == "api.media.test"
    assert place.service.account not in (KEY, "")
