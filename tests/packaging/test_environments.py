"""The wheel in separate environments: alone, with each extra, on other Pythons.

`make soak` runs these tests, because they install packages.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from textwrap import indent

import pytest

from mediakit.sandbox.server.running import RunningSandbox
from tests.support.environments import (
    LOWEST,
    NEWEST,
    Environment,
    built_once,
    find_python,
    pyenv_versions,
)
from tests.support.servers.proxies import SOCKSProxy

LOWEST_MINOR = 11
NEWER_MINORS = (14, 13, 12)
SHIPPED_MINORS = (11, 12, 13)
TEST_PACKAGES = (
    "hypothesis",
    "jsonschema",
    "psutil",
    "pytest",
    "pytest-xdist",
    "respx",
    "trustme",
)
QUICK_TESTS = (
    "tests/base/test_money.py",
    "tests/base/test_records.py",
    "tests/schema",
    "tests/catalog/test_spec_tables.py",
    "tests/client/submissions/test_idempotency.py",
    "tests/history/test_ratings_and_drafts.py",
    "tests/widgets/form/test_state.py",
    "tests/spend/test_charges.py",
    "tests/spend/test_daily.py",
)

pytestmark = pytest.mark.soak

ALONE = """
from datetime import date, timedelta
import mediakit as mk

client = mk.connect()
form = client.form("text-to-video")
form.values.prompt, form.values.duration = "a kite", 3
assert form.widget.get_state()["form"]["head"]["title"] == "Text to video"
body = form.request()
estimate = client.estimate("text-to-video", **body)
job = client.run("text-to-video", **body)
charge_micro_usd = job.settle().charge_micro_usd
assert charge_micro_usd == estimate.low == estimate.high
assert job.download("kite.mp4").stat().st_size
assert client.spend.charges()["charge_micro_usd"].tolist() == [charge_micro_usd]
# A month may end meanwhile.
days = client.spend.daily(date.today() - timedelta(days=1))
assert days["charge_micro_usd"].sum() >= charge_micro_usd
assert "charge_micro_usd" in client.spend.monthly()
print(mk.__file__, mk.doctor())
"""
BEGIN = """
import os
from importlib.util import find_spec
from pathlib import Path
from unittest.mock import patch

import mediakit as mk
from mediakit.extras import missing_modules
"""
USE = """
print("-- {extra}")
with patch.dict(os.environ):
    try:
{code}
    except mk.MediakitError as error:
        print(error)
        assert missing_modules("{extra}")
    else:
        assert not missing_modules("{extra}")
"""
EXPORT = """
from mediakit.spend.exporting import export
print(export(mk.connect().spend.monthly(), "month{suffix}").read_bytes()[:4])
"""

# Without an active run, which a tracker that is installed asks for.
LOG = """
plan = mk.connect().sweep("text-to-video", prompt=["a kite"], duration=3)
results = plan.run().wait()
try:
    results.{call}
except mk.InputError as error:
    print(error)
"""


@dataclass(frozen=True)
class Use:
    """Statements that are run without an extra, and then with it.

    Args:
        code: Statements that raise an error of mediakit without the extra.
        result: Part of their output with the extra.
        absence: Part of the message that names it.
    """

    code: str
    result: str
    absence: str


USES = {
    "dask": Use(
        """
from mediakit.history import History
from mediakit.sweep.scoring import ScoredOutput, score_outputs
def size(path):
    return Path(path).stat().st_size
executor = "Dask"
if find_spec("distributed"):
    from distributed import Client
    executor = Client(processes=False, dashboard_address=None).get_executor()
outputs, read = [ScoredOutput("kite", __file__)], lambda output: Path(output.source)
kept = {"history": History(Path("scores.sqlite3"))}
kept["owner"] = {"service": "", "account": ""}
print(list(score_outputs(outputs, size, fetch=read, executor=executor, **kept)))
""",
        "['job_id', 'size', 'reason', 'cost_micro_usd', 'problem']",
        "(package distributed)",
    ),
    "excel": Use(
        EXPORT.format(suffix=".xlsx"),
        "b'PK",
        "pip install openpyxl",
    ),
    "mlflow": Use(
        LOG.format(call="to_mlflow()"),
        "run_id must be the id of a run",
        "pip install mlflow-skinny",
    ),
    "parquet": Use(
        EXPORT.format(suffix=".parquet"),
        "b'PAR1'",
        "pip install pyarrow",
    ),
    "remote": Use(
        """
job = mk.connect().run("text-to-video", prompt="a kite", duration=3)
print(job.download("memory://kites/kite.mp4"))
""",
        "memory://kites/kite.mp4",
        "pip install fsspec",
    ),
    "sandbox": Use(
        """
del os.environ["MEDIAKIT_BASE_URL"], os.environ["MEDIAKIT_API_KEY"]
print(mk.connect().balance())
""",
        "$100.00",
        "pip install httptools starlette uvicorn",
    ),
    "socks": Use(
        """
os.environ.update(ALL_PROXY=os.environ["TEST_PROXY"], NO_PROXY="")
os.environ["MEDIAKIT_BASE_URL"] = "http://service.example"
print(mk.connect().balance())
""",
        "$",
        "pip install socksio",
    ),
    "team": Use(
        """
print(len(mk.connect(history=os.environ["TEST_POSTGRES"]).history.frame()), "entries")
""",
        "0 entries",
        'pip install "psycopg[binary]"',
    ),
    "voila": Use(
        """
import sys
from mediakit.voila import main
try:
    main(["--version"])
except SystemExit as ended:
    if isinstance(ended.code, str):
        raise mk.ServiceError(ended.code)
""",
        "0.5.",
        "pip install ipykernel voila",
    ),
    "wandb": Use(
        LOG.format(call="to_wandb()"),
        "run must be a run",
        "pip install wandb",
    ),
}


@pytest.fixture(scope="session")
def alone(alone_on: Callable[[str], Environment]) -> Environment:
    return alone_on(sys.executable)


@pytest.fixture(scope="session")
def without(
    alone: Environment,
    sandbox: RunningSandbox,
    tmp_path_factory: pytest.TempPathFactory,
) -> str:
    """Use each extra without installing any; return the output."""

    def build(folder: Path) -> None:
        folder.mkdir()
        script = folder / "uses.py"
        script.write_text(uses(*USES), "utf-8")
        nowhere = {
            "TEST_PROXY": "socks5://127.0.0.1:9",
            "TEST_POSTGRES": "postgresql:///",
        }
        bound = service(sandbox, folder / "home")
        printed = alone.run(script, cwd=folder, **bound, **nowhere)
        (folder / "printed").write_text(printed, "utf-8")

    return (built_once(tmp_path_factory, "without", build) / "printed").read_text(
        "utf-8"
    )


def uses(*extras: str) -> str:
    """Return a script that uses these extras one after the other."""
    codes = ((extra, indent(USES[extra].code, " " * 8)) for extra in extras)
    return BEGIN + "".join(USE.format(extra=extra, code=code) for extra, code in codes)


def service(sandbox: RunningSandbox, home: Path) -> dict[str, str]:
    """Bind the test's service, which another process serves."""
    return {
        "MEDIAKIT_BASE_URL": sandbox.base_url,
        "MEDIAKIT_API_KEY": sandbox.api_key,
        "MEDIAKIT_HOME": str(home),
    }


@pytest.fixture
def variables(sandbox: RunningSandbox, tmp_path: Path) -> dict[str, str]:
    return service(sandbox, tmp_path / "home")


# What is not at hand is said in the summary: the marks keep it from being an error.
@pytest.mark.filterwarnings("default:Not tested")
@pytest.mark.parametrize("minor", SHIPPED_MINORS)
def test_the_wheel_alone_gives_connect_forms_and_spend(
    minor: int,
    alone_on: Callable[[str], Environment],
    variables: dict[str, str],
    tmp_path: Path,
) -> None:
    python = find_python(minor)
    if python is None:
        warnings.warn(f"Not tested: Python 3.{minor} is not here.", stacklevel=1)
        return
    alone = alone_on(python)
    printed = " ".join(alone.run("-c", ALONE, cwd=tmp_path, **variables).split())

    assert f" {alone.folder}" in printed
    assert f"Extras none (not installed: {', '.join(sorted(USES))})" in printed
    assert "Conflict" not in printed


@pytest.mark.parametrize("extra", USES)
def test_an_extra_works_alone_and_its_absence_is_one_readable_message(
    extra: str,
    wheel: Path,
    alone: Environment,
    without: str,
    sandbox: RunningSandbox,
    variables: dict[str, str],
    postgres_url: str,
    tmp_path: Path,
) -> None:
    use, script = USES[extra], tmp_path / "use.py"
    script.write_text(uses(extra), "utf-8")
    port = int(sandbox.base_url.rpartition(":")[2])
    with SOCKSProxy(port) as proxy:
        variables |= {"TEST_PROXY": proxy.url(), "TEST_POSTGRES": postgres_url}
        more = alone.copied(tmp_path / "more")
        more.install(f"{wheel}[{extra}]")
        with_it = more.run(script, cwd=tmp_path, **variables)

    sentence = without.partition(f"-- {extra}\n")[2].partition("\n-- ")[0]
    assert use.absence in sentence
    assert "install mediakit" not in sentence
    assert use.result in with_it


@pytest.mark.filterwarnings("default:Not tested")
@pytest.mark.parametrize(
    ("minors", "constraints"), [((LOWEST_MINOR,), LOWEST), (NEWER_MINORS, NEWEST)]
)
def test_quick_tests_pass_on_the_newest_python_and_on_the_lowest_versions(
    minors: tuple[int, ...],
    constraints: str,
    wheel: Path,
    alone_on: Callable[[str], Environment],
    tmp_path: Path,
) -> None:
    python = next(filter(None, map(find_python, minors)), None)
    if python is None:
        missing = f"Not tested: no Python 3 of {minors} is on this machine."
        warnings.warn(missing, stacklevel=1)
        return
    folder = tmp_path / "environment"
    if constraints == NEWEST:
        environment = alone_on(python).copied(folder)
    else:
        environment = Environment.make(folder, python)
    packages = (f"{wheel}[sandbox,team]", *TEST_PACKAGES)
    environment.install(*packages, constraints=constraints)

    where = environment.run("-c", "import mediakit; print(mediakit.__file__)")
    assert where.startswith(str(tmp_path))
    options = ("-q", "-p", "no:cacheprovider", "--basetemp", tmp_path / "tests")
    without_server = ("-k", "not postgres")
    environment.run("-m", "pytest", *options, *without_server, *QUICK_TESTS)


def test_another_python_than_this_one_is_at_hand_where_pyenv_is() -> None:
    others = [find_python(minor) for minor in (LOWEST_MINOR, *NEWER_MINORS)]
    if "CI" in os.environ and pyenv_versions():
        assert set(others) - {None, sys.executable}
