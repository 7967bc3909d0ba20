import sys
from pathlib import Path

import pytest

from mediakit.sandbox.server.running import RunningSandbox
from tests.support import zygote
from tests.support.kernels import run_cells

SCRIPT = """
import asyncio, sys
import mediakit as mk
import mediakit.widgets.form.controller

async def inner():
    await asyncio.sleep(0)
    return "inner"

async def cell():
    try:
        asyncio.run(inner())
    except RuntimeError:
        print("refused before")
    mk.allow_nested_loops()
    print(asyncio.run(inner()), "after")

client = mk.Client
untouched = asyncio.run.__module__ == "asyncio.runners"
print(untouched and not any(name.startswith("nest_asyncio") for name in sys.modules))
asyncio.run(cell())
print("nest_asyncio2" in sys.modules or "nest_asyncio" in sys.modules)
"""

CONNECTS = """
import asyncio, sys
import mediakit as mk
where = {where!r}
client = mk.Client(*where, home={home!r})
job = client.submit("text-to-image", prompt="before the patch")
"""

ALLOWS = """
if {original}:
    sys.modules["nest_asyncio2"] = None  # as if it were not installed
mk.allow_nested_loops()
print("nest_asyncio" in sys.modules)
"""

RUNS = """
async def main():
    async with mk.AsyncClient(*where, home={home!r}) as other:
        return (await other.run("text-to-image", prompt="nested")).status.value

print(asyncio.run(main()))
print(asyncio.run(main()))
"""

GOES_ON = """
print((await job).status.value)
print(client.run("text-to-image", prompt="after the patch").settle().status.value)
client.close()
"""


def test_nested_loops_are_refused_until_they_are_asked_for(tmp_path: Path) -> None:
    process = zygote.start(SCRIPT)
    printed, errors = process.finish()

    said = ["True", "refused before", "inner after", "True"]
    assert printed.split("\n")[:4] == said, errors


@pytest.mark.parametrize(
    "original",
    [
        "False",
        pytest.param(
            "True",
            marks=(
                pytest.mark.soak,
                pytest.mark.skipif(
                    sys.version_info >= (3, 14),
                    reason="the original breaks every request",
                ),
            ),
        ),
    ],
)
def test_a_cell_may_run_loops_and_the_blocking_client_continues(
    sandbox: RunningSandbox, tmp_path: Path, original: str
) -> None:
    where = (sandbox.base_url, sandbox.api_key)
    cells = [
        cell.format(where=where, home=str(tmp_path), original=original)
        for cell in (CONNECTS, ALLOWS, RUNS, GOES_ON)
    ]
    _, allows, runs, goes_on = run_cells(cells, tmp_path)

    def printed(cell: dict[str, list[dict[str, str]]]) -> list[str]:
        texts = [output.get("text", "") for output in cell["outputs"]]
        return "".join(texts).split()

    assert printed(allows) == [original]
    assert printed(runs) == ["completed", "completed"]
    assert printed(goes_on) == ["completed", "completed"]
