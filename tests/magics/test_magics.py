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
from mediakit import Client, InputError, Job
from mediakit.catalog import Catalog, Function
from mediakit.history import Entry, EntryState
from mediakit.magics import magics
from mediakit.magics.arguments import fields_of, help_text, read_line
from mediakit.magics.magics import StoppedError
from mediakit.magics.table import HEADS, JobsTable
from mediakit.money import format_usd
from mediakit.records import JobStatus
from mediakit.sandbox.server.running import RunningSandbox
from tests.support.kernels import run_cells
from tests.support.rows import assert_each

CATALOG = Catalog.default()


def fields(line: str, cell: str | None = None) -> dict[str, object]:
    read = read_line(line)
    return fields_of(CATALOG.function(read.function), read, cell)


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
        ("text-to-video --duration", None, "a whole number from 3 to 15 s"),
        ("text-to-video --duration 3 --duration 4", None, "given 2 times"),
        ("text-to-video --take 0", None, 'a whole number from 1, or "next"'),
        ("text-to-video --take", None, 'a whole number from 1, or "next"'),
        ("text-to-video --take 1 --take 2", None, "once"),
        ("text-to-video --client", None, "the name of a variable"),
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
        assert read_line(f"text-to-video {line}").function == "text-to-video"


def test_own_options_are_no_fields() -> None:
    read = read_line("r4 --take next --no-wait --client mine --duration 5")

    assert (read.take, read.wait, read.client) == ("next", False, "mine")
    assert read.options == (("duration", "5"),)
    assert read_line("r4").wait
    assert fields("text-to-video", "\n  a kite\nover dunes \n") == {
        "prompt": "a kite\nover dunes"
    }
    assert fields("image-upscale --image-url a.png", " \n") == {"image_url": "a.png"}


def test_the_help_names_every_option_with_what_it_accepts() -> None:
    def check(function: Function) -> None:
        text = help_text(function)
        for name, spec in function.fields.items():
            first = name in text.splitlines()[0]
            assert first or f"--{name.replace('_', '-')} " in text
            assert first or spec.accepted in text
        assert "--take next" in text

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


def test_an_interrupt_ends_the_waiting_in_a_sentence(
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
    with pytest.raises(InputError, match="nothing behind it"):
        shell.run_line_magic("balance", "now")


# -- the table ------------------------------------------------------------------------


def test_jobs_are_a_table_newest_first(shell: Any, client: Client) -> None:
    client.submit("text-to-video", prompt="older <b>", duration=3).settle()
    newer = client.submit("text-to-image", prompt="newer")

    table = shell.run_line_magic("jobs", "")
    assert [row[2] for row in table.rows] == ["newer", "older <b>"]
    assert table.rows[0][-1] == newer.id
    assert table.rows[1][3:6] == ("Completed", "$0.204", "$0.204")
    assert "older &lt;b&gt;" in table._repr_html_()
    assert repr(table).splitlines()[0].split() == list(HEADS)
    assert len(shell.run_line_magic("jobs", "1").rows) == 1
    for wanted in ("many", "0", "-1", "501"):
        with pytest.raises(InputError, match="how many, from 1 to 500"):
            shell.run_line_magic("jobs", wanted)
    assert repr(JobsTable([])) == "No jobs yet."
    assert JobsTable([])._repr_html_() == "<p>No jobs yet.</p>"


def entry(client: Client, **more: object) -> Entry:
    client.submit("text-to-video", prompt="a kite " * 20, duration=3)
    known = vars(client.history.page(limit=1)[0])
    return Entry(**known | more)


def test_what_is_not_known_is_not_written_as_nothing(client: Client) -> None:
    unknown: dict[str, object] = {
        "estimate_low_micro_usd": None,
        "charge_micro_usd": None,
        "status": None,
        "job_id": None,
        "state": EntryState.UNANSWERED,
    }
    [row] = JobsTable([entry(client, **unknown)]).rows

    assert row[2].endswith("…")
    assert row[3:] == ("No answer yet", "unknown", "not charged yet", "")
    failed = entry(client, status=JobStatus.FAILED, error_code="timed_out")
    open_end = {"estimate_high_micro_usd": None}
    between = {"estimate_high_micro_usd": 300_000}
    assert JobsTable([failed]).rows[0][3] == "Failed: timed_out"
    nothing = open_end | {"estimate_low_micro_usd": 0}
    assert JobsTable([entry(client, **open_end)]).rows[0][4] == "at least $0.204"
    assert JobsTable([entry(client, **nothing)]).rows[0][4] == "price not known yet"
    assert JobsTable([entry(client, **between)]).rows[0][4] == "$0.204 to $0.30"


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
