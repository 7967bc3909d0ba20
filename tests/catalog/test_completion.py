"""The completions of the Tab key, from IPython's own completer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from inspect import signature
from pathlib import Path
from typing import Any

import IPython
import jedi  # type: ignore[import-untyped]
import pytest
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell

import mediakit as mk
from mediakit import Client, InputError, entry_points
from mediakit.catalog import Catalog
from mediakit.completion import offer_at
from mediakit.magics import line_offer, load
from mediakit.sandbox.server.running import RunningSandbox

CATALOG = Catalog.default()
Complete = Callable[[str], list[str]]
takes_completions = pytest.mark.skipif(
    IPython.version_info < (8, 6), reason="IPython before 8.6 takes no completions"
)


@pytest.fixture
def shell(client: Client) -> Iterator[Any]:
    """Return a new shell in which `client` is a client."""
    shell: Any = InteractiveShell()
    shell.user_ns.update(client=client, other=object(), box={"client": client})
    yield shell
    shell.history_manager.end_session()
    InteractiveShell.clear_instance()


@pytest.fixture
def complete(
    shell: Any,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> Complete:
    """Return the texts that Tab offers at the end of the code, as inserted."""
    load(shell)
    # While another process writes the cache that both share, jedi may find nothing.
    cache = tmp_path_factory.getbasetemp() / "jedi"
    monkeypatch.setattr(jedi.settings, "cache_directory", str(cache))

    def at_the_end(code: str) -> list[str]:
        with provisionalcompleter():
            found = list(shell.Completer.completions(code, len(code)))
        line = code.rsplit("\n", 1)[-1]
        begin = len(code) - len(line)
        return [line[: each.start - begin] + each.text for each in found]

    return at_the_end


@takes_completions
@pytest.mark.parametrize(
    ("code", "offered"),
    [
        (
            'client.form("te',
            ['client.form("text-to-image', 'client.form("text-to-video'],
        ),
        ("client.submit('r1", ["client.submit('r1", "client.submit('r1-finalize"]),
        ('client.run("sandbox/r4', ['client.run("sandbox/r4/reference-to-video']),
        (
            'client.submit("text-to-video", d',
            ['client.submit("text-to-video", duration='],
        ),
        (
            'job = client.submit(\n    "text-to-video",\n    prompt="a, (b",\n    du',
            ["    duration="],
        ),
        (
            'client.estimate("text-to-video", resolution="7',
            ['client.estimate("text-to-video", resolution="720p'],
        ),
        ("%%generate text-to-v", ["%%generate text-to-video"]),
        (
            "%%generate text-to-video --res",
            ["%%generate text-to-video --resolution"],
        ),
        (
            "%%generate text-to-video --audio n",
            ["%%generate text-to-video --audio native"],
        ),
        (
            "%generate text-to-video --audio=o",
            ["%generate text-to-video --audio=off"],
        ),
        (
            "%%generate keyframes --loop t",
            ["%%generate keyframes --loop true"],
        ),
        ("%%generate r1 --client cl", ["%%generate r1 --client client"]),
        pytest.param(
            "client.functions.text_to_v",
            ["client.functions.text_to_video"],
            marks=pytest.mark.soak,  # jedi reads all that mediakit imports
        ),
    ],
)
def test_the_tab_key_offers_names_and_choices(
    complete: Complete, code: str, offered: list[str]
) -> None:
    assert complete(code) == offered


@pytest.mark.parametrize(
    "code",
    [
        'other.submit("te',
        'missing.submit("te',
        'unopened.submit("te',
        'client.job("te',
        'client.submit("text-to-video", prompt="te',
        'client.submit("nothing", du',
        'client.submit(["te',
        'print("client.submit(te',
        '# client.submit("te',
        "client.submit(",
        '%%generate text-to-video\nclient form("te',
        "%%generate nothing --du",
        "%%time text-to-v",
    ],
)
def test_nothing_is_offered_elsewhere(client: Client, code: str) -> None:
    names = {"client": client, "other": object(), "unopened": mk.AsyncClient()}

    assert offer_at(code, names) is None
    assert line_offer(code, CATALOG, names) is None


@takes_completions
def test_connecting_is_enough_for_tab_completion_in_calls(
    shell: Any,
    sandbox: RunningSandbox,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(entry_points, "current_shell", lambda: shell)
    client = mk.connect(sandbox.base_url, sandbox.api_key, home=tmp_path / "other")
    code = 'client.form("text-to-v'

    with provisionalcompleter():
        [offered] = shell.Completer.completions(code, len(code))
    assert offered.text == "text-to-video"
    client.close()


def test_the_tab_key_offers_the_public_methods_of_a_client(client: Client) -> None:
    offered = [name for name in dir(client) if not name.startswith("_")]
    plumbing = {"components", "core", "io", "owned", "backend"}

    assert plumbing.isdisjoint(offered)
    assert {"submit", "estimate", "history", "spend", "form", "studio"} <= set(offered)
    assert offered == sorted(offered)
    for name in plumbing:
        assert getattr(client, name) is not None


# -- functions as attributes ----------------------------------------------------------


def test_a_function_that_is_an_attribute_makes_the_same_call(client: Client) -> None:
    function = client.functions.text_to_video

    assert function.estimate(prompt="a", duration=3).text == "$0.204"
    job = function.submit(prompt="a kite", duration=3)
    assert client.submit("text-to-video", prompt="a kite", duration=3).id == job.id
    with pytest.raises(InputError, match="did you mean prompt"):
        function.submit(promt="a")


def test_its_arguments_and_docs_are_those_of_the_declaration(client: Client) -> None:
    submit = client.functions.keyframes.submit
    arguments = signature(submit).parameters

    assert next(iter(arguments)) == "images"
    assert arguments["resolution"].default == "1080p"
    assert "take" in arguments
    assert "self" not in arguments
    assert "Accepted: a list of 1 to 5 items" in (submit.__doc__ or "")
    assert "negative_prompt: " in (client.functions.keyframes.__doc__ or "")
    assert repr(client.functions.r4).startswith("<r4: Make a video")
