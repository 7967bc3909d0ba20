"""Whatever a server returns, an operation ends with its result or a readable error."""

from __future__ import annotations

import asyncio
import json
import re
from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from mediakit import AsyncClient
from mediakit.client import AsyncJob, Service
from mediakit.errors import MediakitError, ServiceError
from mediakit.history import History
from tests.client.http.wire_faults import (
    ELSEWHERE,
    FAULTS,
    FETCH,
    READ,
    SECRET,
    SUBMIT,
    Fault,
    fields,
)
from tests.support.advancing_clock import AdvancingClock
from tests.support.clients import async_client
from tests.support.samples.media_samples import make_png
from tests.support.servers.scripted_server import ScriptedServer, Visit, page

pytestmark = pytest.mark.usefixtures("no_garbage_collection")

KEY = "key-0123456789abcdef"
KEY_LINE = re.compile(r"(?im)^idempotency-key: (\S+)")
BOUND_S = 300.0
WAIT_S = 0.2
RETRY_FOR_S = 3.0
CALLS = 4
ALWAYS = 1_000_000
FILE = b"{the bytes of a picture}" * 1_000
UPLOADED = "https://files.example/a.png"
SPENDABLE = {"balance_micro_usd": 9_000_000}
CHARGE_MICRO_USD = 50_000
SENT_NOTHING = "Nothing was sent"
NO_JOB = ("no job was created", "Nothing was charged", "nothing is charged")

Operation = Callable[[], Awaitable[object]]


@dataclass
class FakeService:
    """A service on raw sockets whose next responses to some requests are malformed.

    Args:
        fault: How it answers then.
        aim: How the requests begin that get malformed responses.
    """

    fault: Fault
    aim: str
    base_url: str = ""
    odd_left: int = 0
    has_sent_balance: bool = False
    jobs_end: bool = True
    jobs: dict[str, str] = field(default_factory=dict)
    keys: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    def play(self, visit: Visit) -> None:
        """Serve one connection, for one request."""
        if self.fault.at_once and self.odd_left and self.has_sent_balance:
            self.odd_left -= 1
            self.fault.play(visit, b"")
        elif request := visit.request():
            head, _, body = request.decode("latin-1").partition("\r\n\r\n")
            is_odd = self.odd_left > 0 and head.startswith(self.aim)
            is_odd = is_odd and not self.fault.at_once
            right = self._right(head, body, arrives=self.fault.arrives or not is_odd)
            if is_odd:
                self.odd_left -= 1
                self.fault.play(visit, right)
            else:
                visit.say(page(right, "Connection: close"))

    def _right(self, head: str, body: str, *, arrives: bool) -> bytes:
        """Perform a request, and return the correct body for it."""
        method, path, _ = head.split(" ", 2)
        if path.startswith(("/files/", ELSEWHERE)):
            return FILE
        if path == "/billing/balance":
            self.has_sent_balance = True
            return as_json(SPENDABLE)
        if path == "/v1/media/uploads":
            put = f"{self.base_url}/put?c={SECRET}"
            return as_json({"upload_url": put, "headers": {}, "url": UPLOADED})
        if method == "POST":
            (key,) = KEY_LINE.findall(head)
            self.keys[json.loads(body)["prompt"]].add(key)
            job_id = f"media_{len(self.jobs) + 1}"
            if arrives:
                job_id = self.jobs.setdefault(key, job_id)
            return as_json({"id": job_id, "status": "queued"})
        return as_json(self._job(path.rpartition("/")[2]))

    def _job(self, job_id: str) -> dict[str, Any]:
        if not self.jobs_end:
            return {"id": job_id, "status": "queued"}
        file = {"url": f"{self.base_url}/files/a.png?c={SECRET}"}
        return {
            "id": job_id,
            "status": "completed",
            "output": {"media_type": "image", "image": file},
            "billing": {"state": "settled", "charge_micro_usd": CHARGE_MICRO_USD},
        }


def as_json(value: object) -> bytes:
    return json.dumps(value).encode()


@dataclass
class Case:
    """A client of a service whose responses to one operation are malformed."""

    service: FakeService
    client: AsyncClient

    async def tried(self, operation: Operation, odd: int = 0) -> MediakitError | None:
        """Run it with this number of malformed responses; return its final error."""
        self.service.odd_left, self.service.jobs_end = odd, True
        try:
            async with asyncio.timeout(BOUND_S):
                await operation()
        except MediakitError as error:
            check_words(error)
            return error
        finally:
            self.service.odd_left = 0
        return None

    async def succeeds(self, operation: Operation) -> None:
        """Run it with correct responses; a slow machine may need a few calls."""
        errors = [await self.tried(operation)]
        while errors[-1] is not None and len(errors) < CALLS:
            errors.append(await self.tried(operation))
        assert errors[-1] is None

    async def submit(self, prompt: str) -> AsyncJob:
        return await self.client.submit("text-to-video", prompt=prompt, duration=3)


def check_words(error: MediakitError) -> None:
    said = str(error)
    assert len(said) < 700, said
    assert re.fullmatch(r"\S[^\n]*[.?]", said), said
    for foreign in (KEY, SECRET, "?c=", "<html", "Traceback", "Exception", "?."):
        assert foreign not in said, said


def rounds(fault: Fault, operation: str) -> tuple[int, ...]:
    """Return the numbers of malformed responses: one, and more than the retries."""
    return (ALWAYS,) if operation in fault.succeeds else (1, ALWAYS)


Script = Callable[[Case, int], Awaitable[None]]


def play(fault: Fault, aim: str, home: Path, script: Script, *rounds: int) -> None:
    """Play a script with a client of a service that has a fault.

    Args:
        fault: The fault.
        aim: How the requests begin that get the fault.
        home: Where the history is.
        script: The operation; its argument is the number of responses with the fault.
        rounds: The numbers of responses with the fault, one run for each.
    """
    service = FakeService(fault, aim)

    async def main(client: AsyncClient) -> None:
        async with client:
            for odd in rounds:
                await script(Case(service, client), odd)

    with (
        ScriptedServer(service.play) as server,
        History(home / "history.sqlite3") as history,
        asyncio.Runner() as runner,
    ):
        service.base_url = server.base_url
        client = async_client(
            Service(server.base_url, KEY),
            history=history,
            clock=AdvancingClock(),
            timeout_s=fault.timeout_s,
            submit_retry_for_s=RETRY_FOR_S,
        )
        runner.run(main(client))


every_fault = pytest.mark.parametrize("fault", FAULTS, ids=lambda each: each.name)
# All operations share a transport, so reads are tested with a sixth of the faults.
some_faults = pytest.mark.parametrize(
    "fault",
    [
        pytest.param(fault, marks=[pytest.mark.soak] if number % 6 else [])
        for number, fault in enumerate(FAULTS)
    ],
    ids=[fault.name for fault in FAULTS],
)


@every_fault
def test_a_submit_makes_one_job(fault: Fault, tmp_path: Path) -> None:
    async def script(case: Case, odd: int) -> None:
        service = case.service
        prompt, made = f"a kite {odd}", len(service.jobs)
        error = await case.tried(lambda: case.submit(prompt), odd)
        if odd == ALWAYS:
            assert (error is None) == (SUBMIT in fault.succeeds), error
        assert SENT_NOTHING not in str(error)
        if error is not None and len(service.jobs) > made:
            assert not any(words in str(error) for words in NO_JOB), error
        await case.succeeds(lambda: case.submit(prompt))
        again = await case.submit(prompt)
        assert list(service.jobs.values())[made:] == [again.id]
        assert len(service.keys[prompt]) == 1

    play(fault, "POST /v1/media/", tmp_path, script, *rounds(fault, SUBMIT))


@some_faults
def test_a_job_is_read_and_waited_for(fault: Fault, tmp_path: Path) -> None:
    is_good = READ in fault.succeeds
    wait_s = BOUND_S if is_good else WAIT_S

    async def script(case: Case, odd: int) -> None:
        case.service.jobs_end = False
        job = await case.submit(f"a kite {odd}")
        waited = await case.tried(lambda: job.wait(wait_s), odd)
        read = await case.tried(lambda: case.client.job(job.id), odd)
        if odd == ALWAYS:
            assert (waited is None) == is_good, waited
            assert (read is None) == (is_good or fault.is_job), read
        await case.succeeds(lambda: case.client.job(job.id))
        await case.succeeds(lambda: job.wait(BOUND_S))
        assert job.charge_micro_usd == CHARGE_MICRO_USD

    play(fault, "GET /v1/media/jobs/", tmp_path, script, *rounds(fault, READ))


@some_faults
def test_a_file_is_fetched_or_sent(fault: Fault, tmp_path: Path) -> None:
    async def fetch(case: Case, odd: int) -> None:
        path = tmp_path / f"{odd}.png"
        job = await (await case.submit("a kite")).wait(BOUND_S)
        error = await case.tried(lambda: job.download(path), odd)
        if odd == ALWAYS:
            assert (error is None) == (FETCH in fault.succeeds), error
        assert path.exists() == (error is None)
        await case.succeeds(lambda: job.download(path))
        assert path.read_bytes() == FILE

    async def send(case: Case, odd: int) -> None:
        path = make_png(tmp_path / f"{odd}.png", (64, 48 + odd % 8))
        error = await case.tried(lambda: case.client.upload(path), odd)
        if odd == ALWAYS:
            assert (error is None) == (FETCH in fault.succeeds), error
        await case.succeeds(lambda: case.client.upload(path))

    aim, script = ("GET /files/", fetch)
    if fault.of_json:
        aim, script = ("POST /v1/media/uploads", send)
    play(fault, aim, tmp_path, script, *rounds(fault, FETCH))


# -- a response about another job ----------------------------------------------------


def test_a_response_about_another_job_does_not_change_this_one(tmp_path: Path) -> None:
    other = Fault("another", fields(lambda said: {**said, "id": "media_of_another"}))

    async def script(case: Case, odd: int) -> None:
        case.service.jobs_end = False
        job = await case.submit("a kite")
        for operation in (job.refresh, lambda: case.client.job(job.id)):
            error = await case.tried(operation, odd)
            assert isinstance(error, ServiceError)
            assert "media_of_another" in str(error)
        await case.succeeds(lambda: job.wait(BOUND_S))
        assert job.charge_micro_usd == CHARGE_MICRO_USD

    play(other, "GET /v1/media/jobs/", tmp_path, script, ALWAYS)
