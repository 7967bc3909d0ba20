"""The command line."""

import json
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mediakit.catalog import Catalog
from mediakit.sandbox.__main__ import main
from tests.sandbox.conftest import without_key
from tests.support import zygote

Command = Callable[..., zygote.Process]
KEY = "a-key-of-my-own"


MAIN = """
import sys
from mediakit.sandbox.__main__ import main
raise SystemExit(main(sys.argv[1:]))
"""


@pytest.fixture
def command() -> Iterator[Command]:
    """Run commands until the test ends."""
    started: list[zygote.Process] = []

    def run(*options: str) -> zygote.Process:
        started.append(zygote.start(MAIN, *options))
        return started[-1]

    yield run
    for process in started:
        # A signal that it can handle, so that it removes its temporary folder.
        process.kill(signal.SIGTERM)
        process.finish()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_json_is_one_line_and_a_signal_ends_it_cleanly(
    command: Command, number: int
) -> None:
    process = command("--port", "0", "--json", "--balance-usd", "$5")
    fields = json.loads(process.stdout.readline())
    answer = without_key(
        "GET",
        f"{fields['base_url']}/billing/balance",
        headers={"X-API-Key": fields["api_key"]},
    )
    process.kill(number)
    out, err = process.finish()

    assert list(fields) == ["base_url", "api_key", "functions"]
    assert fields["functions"] == {f.kind: f.path for f in Catalog.default()}
    assert answer.json() == {"balance_micro_usd": 5_000_000}
    assert (process.returncode, out, err) == (0, "", "")


def test_people_read_a_few_lines_with_the_key_made_for_this_run(
    command: Command,
) -> None:
    process = command()
    lines = [process.stdout.readline() for _ in range(4)]

    url = lines[0].split()[4]
    assert url.startswith("http://127.0.0.1:")
    assert lines[1].startswith("API key (for this run only): mk_")
    assert "text-to-video" in lines[2]
    assert "temporary" in lines[3]


def test_an_existing_key_is_not_shown(command: Command, tmp_path: Path) -> None:
    first = command("--data-dir", str(tmp_path), "--api-key", KEY)
    lines = [first.stdout.readline() for _ in range(4)]
    first.kill(signal.SIGTERM)
    first.finish()

    second = command("--data-dir", str(tmp_path))
    lines += [second.stdout.readline() for _ in range(4)]
    assert lines[5] == f"API key: see {tmp_path / 'account.json'}.\n"
    assert KEY not in "".join(lines)


def test_a_temporary_folder_is_removed_on_exit(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    process = command("--json")
    process.stdout.readline()
    assert len(list(tmp_path.iterdir())) == 1
    process.kill(signal.SIGTERM)
    process.finish()

    assert list(tmp_path.iterdir()) == []


def test_other_machines_may_reach_it_only_with_a_warning(command: Command) -> None:
    process = command("--host", "0.0.0.0", "--json", "--api-key", KEY)
    process.stdout.readline()
    process.kill(signal.SIGTERM)
    _, err = process.finish()

    assert "Other machines can reach" in err
    assert "With the API key they can submit jobs and control the sandbox" in err
    assert KEY not in err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--balance-usd", "much"], "amount"),
        (["--speed", "0"], "speed"),
        (["--host", "192.0.2.1"], "cannot listen"),
    ],
)
def test_a_wrong_option_is_one_sentence_and_status_2(
    options: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    handlers = {n: signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)}
    try:
        status = main(options)
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)

    out, err = capsys.readouterr()
    assert status == 2
    assert out == ""
    assert words in err
    assert "Traceback" not in err
