import asyncio
from datetime import UTC, datetime

from mediakit.clock import VirtualClock


def test_a_virtual_clock_wakes_its_sleepers_in_order_and_only_when_advanced() -> None:
    async def scenario() -> list[tuple[str, float]]:
        clock = VirtualClock(datetime(2026, 1, 1, tzinfo=UTC))
        woken: list[tuple[str, float]] = []

        async def sleeper(name: str, *gaps_s: float) -> None:
            for gap_s in gaps_s:
                await clock.sleep(gap_s)
                woken.append((name, clock.monotonic_s()))

        tasks = [
            asyncio.ensure_future(sleeper("late", 3_600)),
            asyncio.ensure_future(sleeper("often", 1_000, 1_000, 1_000)),
        ]
        await clock.advance(500)
        assert woken == []
        await clock.advance(4_000)
        await asyncio.gather(*tasks)
        assert clock.now() == datetime(2026, 1, 1, 1, 15, tzinfo=UTC)
        return woken

    with asyncio.Runner() as runner:
        woken = runner.run(scenario())
    assert woken == [
        ("often", 1_000),
        ("often", 2_000),
        ("often", 3_000),
        ("late", 3_600),
    ]
