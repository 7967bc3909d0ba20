"""`%%generate`, `%jobs` and `%balance`, in IPython itself and in a real kernel."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from IPython.core.interactiveshell import InteractiveShell

import mediakit as mk
from mediakit import Client, InputError, Job, magics
from mediakit.catalog import Catalog, Function
from mediakit.magics import (
    StoppedError,
    fields_of,
    own_parser,
    parser_of,
    read_line,
)
from mediakit.money import format_usd
from mediakit.sandbox.server.running import RunningSandbox
from tests.support.kernels import run_cells
from tests.support.rows import assert_each

CATALOG = Catalog.default()


def fields(line: str, cell: str | None = None) -> dict[str, object]:
    name, _, words = read_line(line)
    return fields_of(CATALOG.function(name), words, cell)


# -- the line -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("text-to-video --duration 7", {"duration": 7}),
        ("text-to-video --aspect-ratio=9:16", {"aspect_ratio": "9:16"}),
        ("text-to-video --aspect_ratio 1:1", {"aspect_ratio": "1:1"}),
        ("text-to-video --multi-shot", {"multi_shot": True}),
        ("text-to-video --no-multi-shot --duration 3",
         {"multi_shot": False, "duration": 3}),
        ("text-to-video --multi-shot off", {"multi_shot": False}),
        ("r1 --duration auto", {"duration": "auto"}),
        ("r1 --duration 9", {"duration": 9}),
        ("image-upscale --grain 0.05", {"grain": 0.05}),
        ("keyframes --images a.png --images 'b c.png'",
         {"images": ["a.png", "b c.png"]}),
        ('keyframes --images \'["a.png"]\'', {"images": ["a.png"]}),
        ("keyframes --transition-durations-s 3 --transition-durations-s 4",
         {"transition_durations_s": [3, 4]}),
        ("compose-video --tracks '[{\"id\": \"a\"}]'", {"tracks": [{"id": "a"}]}),
        ("text-to-image --style noir --size 3", {"style": "noir", "size": 3}),
        ("text-to-video --duration long", {"duration": "long"}),
    ],
)  # fmt: skip
def test_options_are_read_by_the_declaration(
    line: str, expected: dict[str, object]
) -> None:
    found = fields(line)

    assert found == expected
    assert [type(v) for v in found.values()] == [type(v) for v in expected.values()]


@pytest.mark.parametrize(
    ("line", "cell", "said"),
    [
        ("", None, "a function first"),
        ("--duration 5", None, "a function first"),
        ("text-to-video 5", None, "options such as --duration 5"),
        ("text-to-video --prompt 'a", None, "no closing quotation"),
        ("text-to-video --duration", None, "--duration: expected one argument"),
        ("text-to-video --take 0", None, 'a whole number from 1, or "next"'),
        ("text-to-video --take", None, "--take: expected one argument"),
        ("text-to-video --client", None, "--client: expected one argument"),
        ("text-to-video --prompt a", "b", "not both"),
        ("compose-video", "a kite", "compose-video takes no prompt"),
        ("text-to-vidio", None, "text-to-video"),
    ],
)
def test_a_line_that_cannot_be_read_is_refused_in_one_sentence(
    line: str, cell: str | None, said: str
) -> None:
    with pytest.raises(InputError) as raised:
        fields(line, cell)
    assert said in str(raised.value)
    assert str(raised.value).endswith("Nothing was sent.")


@given(st.text(max_size=40))
def test_any_line_is_read_or_refused(line: str) -> None:
    with suppress(InputError):  # anything else would be a defect
        assert fields(f"text-to-video --prompt a {line}")["prompt"] == "a"


def test_own_options_are_no_fields() -> None:
    line = "r4 --take next --no-wait --client mine --duration 5"
    name, own, words = read_line(line)

    assert (name, own.take, own.no_wait, own.client) == ("r4", "next", True, "mine")
    assert words == ["--duration", "5"]
    assert not read_line("r4")[1].no_wait
    assert fields("text-to-video", "\n  a kite\nover dunes \n") == {
        "prompt": "a kite\nover dunes"
    }
    assert fields("image-upscale --image-url a.png", " \n") == {"image_url": "a.png"}


def test_the_help_names_every_option_with_what_it_accepts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "4000")  # no line is broken

    def check(function: Function) -> None:
        text = " ".join(parser_of(function, own_parser()).format_help().split())
        for name, spec in function.fields.items():
            assert f"--{name.replace('_', '-')} " in text
            assert " ".join(spec.accepted.split()) in text
        assert "--take" in text

    assert_each(CATALOG.functions, check)


# -- in IPython -----------------------------------------------------------------------


@pytest.fixture
def shell(client: Client) -> Iterator[Any]:
    shell: Any = InteractiveShell()
    shell.user_ns["client"] = client
    mk.load_ipython_extension(shell)
    yield shell
    shell.history_manager.end_session()
    InteractiveShell.clear_instance()


def test_a_cell_says_its_price_first_and_gives_the_job(
    shell: Any, client: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    assert shell.run_line_magic("generate", "text-to-video --help") is None
    assert "--duration" in capsys.readouterr().out
    assert client.history.frame().empty

    shell.user_ns["seconds"] = 3
    line = "text-to-video --duration {seconds}"
    job = shell.run_cell_magic("generate", line, "a kite")
    assert isinstance(job, Job)
    assert capsys.readouterr().out.startswith("text-to-video: $0.204 (exact)\n")
    assert job.status == "completed"
    assert (job.state.prompt, job.state.body["duration"]) == ("a kite", 3)
    shell.user_ns.update(mine=client, client=None)
    line += " --client "
    assert shell.run_cell_magic("generate", f"{line}mine", "a kite").id == job.id
    with pytest.raises(InputError, match=r"--client must be"):
        shell.run_cell_magic("generate", f"{line}other", "a kite")


def test_the_same_cell_pays_once_and_the_next_take_is_another(
    shell: Any, client: Client
) -> None:
    line = "text-to-video --duration 3 --no-wait"
    first = shell.run_cell_magic("generate", line, "a kite")
    again = shell.run_cell_magic("generate", line, "a kite\n")
    other = shell.run_cell_magic("generate", f"{line} --take next", "a kite")

    assert again.id == first.id
    assert other.id != first.id
    assert len(client.history.frame()) == 2


def test_without_a_client_one_connects_once(
    shell: Any, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Client] = []

    def connect() -> Client:
        made.append(client)
        return client

    monkeypatch.setattr(magics, "connect", connect)
    del shell.user_ns["client"]
    shell.run_line_magic("jobs", "")
    shell.run_line_magic("balance", "")
    assert made == [client]


def test_an_interrupt_ends_the_wait_with_a_readable_message(
    shell: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(self: Job, timeout_s: float | None = None) -> Job:
        raise KeyboardInterrupt("stopped waiting; the job continues")

    monkeypatch.setattr(Job, "wait", interrupted)
    with pytest.raises(StoppedError, match=r"^Stopped waiting; the job continues$"):
        shell.run_cell_magic("generate", "text-to-video --duration 3", "a kite")


def test_the_balance_is_one_sentence(
    shell: Any, client: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    left = format_usd(client.balance().spendable_micro_usd)
    shell.run_line_magic("balance", "")

    said = capsys.readouterr().out
    assert said == f"Balance: {left} ({client.service.label}).\n"
    with pytest.raises(InputError, match="without arguments"):
        shell.run_line_magic("balance", "now")


# -- the latest jobs ----------------------------------------------------------------


def test_jobs_are_a_frame_newest_first(shell: Any, client: Client) -> None:
    assert shell.run_line_magic("jobs", "").empty
    client.submit("text-to-video", prompt="older", duration=3).settle()
    newer = client.submit("text-to-image", prompt="newer")

    frame = shell.run_line_magic("jobs", "")
    assert [*frame["prompt"]] == ["newer", "older"]
    assert frame["job_id"].iloc[0] == newer.id
    assert frame["charge_usd"].iloc[1] == 0.204
    assert len(shell.run_line_magic("jobs", "1")) == 1
    for wanted in ("many", "0", "-1", "501"):
        with pytest.raises(InputError, match="a number from 1 to 500"):
            shell.run_line_magic("jobs", wanted)


# -- in a real kernel -----------------------------------------------------------------


def test_the_magics_in_a_notebook(sandbox: RunningSandbox, tmp_path: Path) -> None:
    connects = f"({sandbox.base_url!r}, {sandbox.api_key!r}, home='.')"
    cells = run_cells(
        [
            f"%load_ext mediakit\nimport mediakit\nclient = mediakit.connect{connects}",
            "%%generate text-to-video --duration 3\na kite over dunes",
            "%%generate text-to-video --duration 99\na kite",
            "%jobs",
        ],
        tmp_path,
        allow_errors=True,
    )

    assert "text-to-video: $0.204 (exact)" in str(cells[1].outputs)
    [error] = [each for each in cells[2].outputs if each.output_type == "error"]
    assert error.traceback == [
        "InputError: duration must be a whole number from 3 to 15 seconds (got 99). "
        "Nothing was sent."
    ]
    assert "a kite over dunes" in str(cells[3].outputs)
