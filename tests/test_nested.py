import subprocess
import sys

SCRIPT = """
import asyncio, sys
import mediakit as mk

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
asyncio.run(cell())
print("nest_asyncio2" in sys.modules or "nest_asyncio" in sys.modules)
"""


def test_nested_loops_are_refused_until_they_are_asked_for() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SCRIPT],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.stdout.split("\n")[:3] == ["refused before", "inner after", "True"], (
        done.stderr
    )
