"""The command line."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from mediakit.catalog import Catalog
from mediakit.sandbox.__main__ import main
from tests.sandbox.conftest import PATIENCE_S

KEY = "a-key-of-my-own"


@contextmanager
def command(*options: str) -> Iterator[subprocess.Popen[str]]:
    """Run the command until the test ends."""
    process = subprocess.Popen(
        [sys.executable, "-W", "error", "-m", "mediakit.sandbox", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        # A signal that it can hear: it removes its temporary folder.
        process.terminate()
        process.communicate(timeout=PATIENCE_S)


def first_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_json_is_one_line_and_a_signal_ends_it_cleanly(number: int) -> None:
    with command("--port", "0", "--json", "--balance-usd", "$5") as process:
        fields = json.loads(first_line(process))
        answer = httpx.get(
            f"{fields['base_url']}/billing/balance",
            headers={"X-API-Key": fields["api_key"]},
            trust_env=False,
        )
        process.send_signal(number)
        out, err = process.communicate(timeout=PATIENCE_S)

    assert list(fields) == ["base_url", "api_key", "functions"]
    assert fields["functions"] == {f.kind: f.path for f in Catalog.default()}
    assert answer.json() == {"balance_micro_usd": 5_000_000}
    assert (process.returncode, out, err) == (0, "", "")


def test_people_read_a_few_lines_with_the_key_made_for_this_run(
    tmp_path: Path,
) -> None:
    with command() as process:
        lines = [first_line(process) for _ in range(4)]

    url = lines[0].split()[4]
    assert url.startswith("http://127.0.0.1:")
    assert lines[1].startswith("API key, for this run only: mk_")
    assert "text-to-video" in lines[2]
    assert "balance $100.00" in lines[3]


def test_a_key_that_is_known_already_is_not_shown(tmp_path: Path) -> None:
    with command("--data-dir", str(tmp_path), "--api-key", KEY) as process:
        lines = [first_line(process) for _ in range(4)]

    assert KEY not in "".join(lines)
    assert lines[1] == "API key: the one you gave.\n"
    with command("--data-dir", str(tmp_path)) as process:
        lines = [first_line(process) for _ in range(4)]
    assert lines[1] == f"API key: stored in {tmp_path / 'account.json'}.\n"


def test_a_temporary_folder_is_gone_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with command("--json") as process:
        first_line(process)
        assert len(list(tmp_path.iterdir())) == 1
        process.terminate()
        process.communicate(timeout=PATIENCE_S)

    assert list(tmp_path.iterdir()) == []


def test_other_machines_may_reach_it_only_with_a_warning() -> None:
    with command("--host", "0.0.0.0", "--json", "--api-key", KEY) as process:
        first_line(process)
        process.terminate()
        _, err = process.communicate(timeout=PATIENCE_S)

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
