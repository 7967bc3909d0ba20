"""How the client reads amounts of money, in whatever shape a service sends them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import mediakit as mk
from mediakit.catalog import Catalog
from tests.support.advancing_clock import AdvancingClock
from tests.support.servers.answering_server import VIDEO, AnsweringServer, Answers

PATIENCE_S = 60.0
CLIP: dict[str, Any] = {"prompt": "a kite", "duration": 5}


@contextmanager
def client_of(server: AnsweringServer, home: Path, **more: Any) -> Iterator[mk.Client]:
    """Return a client of a service, whose clock runs fast."""
    with mk.Client(
        server.base_url,
        "a-key-for-this-test",
        home=home,
        clock=AdvancingClock(),
        **{"catalog": Catalog.default(), **more},
    ) as client:
        yield client


def charging(charge: object) -> Answers:
    """Return the answers of a service that says so of each settled charge."""
    billing = {"state": "settled", "charge_micro_usd": charge}
    return Answers(job={"output": VIDEO, "billing": billing})


UNREADABLE = ["340000", None, True, -1, 0.5, 2**53 + 1, 2**63 - 1, [340_000]]


@pytest.mark.spec("2.2")
@pytest.mark.parametrize("charge", [340_000.0, 340_000, 0.0])
def test_a_charge_is_read_if_it_is_a_whole_number_in_any_spelling(
    charge: float, tmp_path: Path
) -> None:
    with AnsweringServer(charging(charge)) as server, client_of(server, tmp_path) as c:
        job = c.submit("text-to-video", **CLIP).settle(PATIENCE_S)

        assert (type(job.charge_micro_usd), job.charge_micro_usd) == (int, charge)
        row = c.history.frame().iloc[0]
        assert (row.billing_state, row.charge_micro_usd) == ("settled", charge)


@pytest.mark.spec("2.2")
@pytest.mark.parametrize("charge", UNREADABLE, ids=repr)
def test_waiting_for_a_charge_that_stays_unreadable_ends_with_a_sentence(
    charge: object, tmp_path: Path
) -> None:
    with AnsweringServer(charging(charge)) as server, client_of(server, tmp_path) as c:
        job = c.submit("text-to-video", **CLIP).wait(PATIENCE_S)
        with pytest.raises(mk.ServiceError) as error:
            job.settle()

        text = str(error.value)
        assert "`charge_micro_usd` must be a whole number" in text
        assert f"(got {charge!r})" in text
        assert job.id in text
        assert c.history.frame().iloc[0].billing_state == "settled"
        assert c.reserved_micro_usd() == 340_000


@pytest.mark.spec("2.2")
def test_a_settled_billing_without_a_charge_is_said_and_not_waited_for(
    tmp_path: Path,
) -> None:
    answers = Answers(job={"output": VIDEO, "billing": {"state": "settled"}})
    with (
        AnsweringServer(answers) as server,
        client_of(server, tmp_path) as c,
        pytest.raises(mk.ServiceError, match="got 'nothing'"),
    ):
        c.submit("text-to-video", **CLIP).settle()


@pytest.mark.spec("2.2")
@pytest.mark.parametrize("billing", [{"state": "refunded"}, "settled", {}], ids=repr)
def test_an_unknown_billing_state_is_not_recorded_as_one_that_the_service_said(
    billing: object, tmp_path: Path
) -> None:
    answers = Answers(job={"output": VIDEO, "billing": billing})
    with AnsweringServer(answers) as server, client_of(server, tmp_path) as c:
        with pytest.raises(mk.ServiceError, match="billing state must be settled"):
            c.submit("text-to-video", **CLIP).settle()

        assert c.history.frame().billing_state.isna().all()


@pytest.mark.spec("2.2")
def test_a_charge_that_can_be_read_later_is_recorded(tmp_path: Path) -> None:
    with (
        AnsweringServer(charging("340000")) as server,
        client_of(server, tmp_path) as c,
    ):
        job = c.submit("text-to-video", **CLIP)
        with pytest.raises(mk.ServiceError):
            job.settle()
        server.answers = charging(340_000)

        assert job.refresh().settle(PATIENCE_S).charge_micro_usd == 340_000
        assert c.history.frame().iloc[0].charge_micro_usd == 340_000


@pytest.mark.spec("2.2")
def test_the_end_of_the_time_to_settle_says_that_the_charge_is_missing(
    tmp_path: Path,
) -> None:
    answers = Answers(job={"output": VIDEO, "billing": {"state": "pending"}})
    with AnsweringServer(answers) as server, client_of(server, tmp_path) as c:
        job = c.submit("text-to-video", **CLIP).wait(PATIENCE_S)
        with pytest.raises(mk.WaitTimeoutError) as error:
            job.settle(0.1)

        assert f"for the charge of {job.id}, which is completed." in str(error.value)
        assert "The job continues" not in str(error.value)


@pytest.mark.spec("2.2")
def test_a_sweep_that_fills_its_budget_ends_though_no_charge_can_be_read(
    tmp_path: Path,
) -> None:
    with (
        AnsweringServer(charging("340000")) as server,
        client_of(server, tmp_path) as c,
    ):
        plan = c.sweep("text-to-video", prompt=list("abcdef"), duration=5)
        results = plan.run(budget="$1").wait(PATIENCE_S)

        statuses = results.frame().status.value_counts()
        assert (statuses["completed"], statuses["unsent"]) == (2, 4)
        assert c.reserved_micro_usd() == 2 * 340_000


@pytest.mark.spec("2.4")
def test_whole_numbers_of_a_balance_are_read_in_any_spelling(tmp_path: Path) -> None:
    answers = Answers(balance={"balance_micro_usd": 100_000_000.0})
    with AnsweringServer(answers) as server, client_of(server, tmp_path) as c:
        assert c.balance().spendable_micro_usd == 100_000_000
        answers.balance = {
            "balance_micro_usd": 1.0,
            "postpaid": {"cycle": {"remaining_micro_usd": 5_000_000.0}},
        }
        assert c.balance().spendable_micro_usd == 5_000_000


@pytest.mark.spec("2.4")
@pytest.mark.parametrize(
    ("balance", "sentence"),
    [
        (
            {"balance_micro_usd": "5"},
            "`balance_micro_usd` must be a whole number of micro-USD (got '5').",
        ),
        ({"balance_micro_usd": 0.5}, "a whole number of micro-USD (got 0.5)."),
        ({"balance_micro_usd": True}, "a whole number of micro-USD (got True)."),
        ({}, "`balance_micro_usd` is missing."),
        (
            {
                "balance_micro_usd": 5,
                "postpaid": {"cycle": {"remaining_micro_usd": ""}},
            },
            "`postpaid.cycle.remaining_micro_usd` must be a whole number of micro-USD",
        ),
        ([], "it is not what the specification says."),
    ],
    ids=str,
)
def test_a_balance_that_cannot_be_read_is_said_in_a_sentence(
    balance: object, sentence: str, tmp_path: Path
) -> None:
    with (
        AnsweringServer(Answers(balance=balance)) as server,
        client_of(server, tmp_path) as c,
        pytest.raises(mk.ServiceError) as error,
    ):
        c.balance()

    assert str(error.value).startswith(
        "The service answered 200 with a balance that cannot be read: "
    )
    assert sentence in str(error.value)


@pytest.mark.spec("2.2")
def test_charges_that_no_account_can_have_do_not_lock_the_account(
    tmp_path: Path,
) -> None:
    with (
        AnsweringServer(charging(2**63 - 1)) as server,
        client_of(server, tmp_path) as c,
    ):
        for prompt in ("a", "b"):
            with pytest.raises(mk.ServiceError):
                c.submit("text-to-video", prompt=prompt, duration=5).settle()
        server.answers = charging(340_000)
        job = c.submit("text-to-video", prompt="c", duration=5).settle(PATIENCE_S)

        assert job.charge_micro_usd == 340_000
        charges = c.history.frame().charge_micro_usd
        assert charges.dropna().eq(340_000).all()
