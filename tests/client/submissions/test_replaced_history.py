"""A history whose file is deleted or replaced while a kernel has it open."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

import mediakit as mk
from tests.support.service_in_memory import CHARGE_MICRO_USD, ServiceInMemory

CLIP: dict[str, Any] = {"duration": 5}
NAME = "history.sqlite3"


def opened(service: ServiceInMemory, home: Path) -> mk.Client:
    return service.client(home, budget=mk.Budget("team", "$0.70"))


def is_deleted(home: Path) -> None:
    for file in home.glob(f"{NAME}*"):
        file.unlink()


def is_moved_away(home: Path) -> None:
    (home / NAME).rename(home / "old.sqlite3")


def is_replaced(home: Path) -> None:
    copy = (home / NAME).read_bytes()
    is_deleted(home)
    (home / NAME).write_bytes(copy)


@pytest.mark.parametrize("happens", [is_deleted, is_moved_away, is_replaced])
def test_nothing_is_bought_while_the_open_history_file_is_replaced(
    service: ServiceInMemory, tmp_path: Path, happens: Callable[[Path], None]
) -> None:
    with opened(service, tmp_path) as client:
        client.run("text-to-video", prompt="before", **CLIP).settle()
        happens(tmp_path)
        calls: list[Callable[[], object]] = [
            lambda: client.submit("text-to-video", prompt="after", **CLIP),
            lambda: client.submit("text-to-video", prompt="before", take=2, **CLIP),
            lambda: client.job("media_1").next_take(),
        ]
        for call in calls:
            with pytest.raises(mk.MediakitError, match="deleted or replaced") as error:
                call()
            assert error.value.sent is False
        results = client.sweep("text-to-video", prompt=["a", "b"], **CLIP).run()
        results.wait()
        assert len(service.posts) == 1


def test_an_unanswered_request_is_not_sent_from_a_deleted_history(
    service: ServiceInMemory, tmp_path: Path
) -> None:
    service.on_submit = service.fails(httpx.ReadError("lost"))
    with opened(service, tmp_path) as client:
        with pytest.raises(mk.ServiceError):
            client.submit("text-to-video", prompt="lost", **CLIP)
        service.on_submit = service.accepts
        service.posts.clear()
        is_deleted(tmp_path)
        with pytest.raises(mk.MediakitError, match="deleted or replaced"):
            client.submit("text-to-video", prompt="lost", **CLIP)
        assert client.resume() == []
        assert service.posts == []


def test_a_history_that_is_put_back_continues(
    service: ServiceInMemory, tmp_path: Path
) -> None:
    with opened(service, tmp_path) as client:
        client.run("text-to-video", prompt="before", **CLIP).settle()
        is_moved_away(tmp_path)
        with pytest.raises(mk.MediakitError, match="deleted or replaced"):
            client.submit("text-to-video", prompt="after", **CLIP)
        (tmp_path / "old.sqlite3").rename(tmp_path / NAME)
        client.run("text-to-video", prompt="after", **CLIP).settle()
        assert client.spend.charges().charge_micro_usd.sum() == 2 * CHARGE_MICRO_USD


def brightness(path: Path) -> float:
    return float(len(path.read_bytes()))


@pytest.mark.parametrize("happens", [is_deleted, is_replaced])
def test_no_judgement_or_score_is_accepted_that_would_be_lost(
    service: ServiceInMemory, tmp_path: Path, happens: Callable[[Path], None]
) -> None:
    with opened(service, tmp_path) as client:
        results = client.sweep("text-to-video", prompt=["a"], **CLIP).run().wait()
        job_id = results.frame()["job_id"][0]
        happens(tmp_path)
        calls: list[Callable[[], object]] = [
            lambda: results.rate(job_id, 5),
            lambda: results.keep(job_id),
            lambda: results.note(job_id, "the best"),
            lambda: results.tag(job_id, "final"),
            lambda: results.score(brightness),
        ]
        for call in calls:
            with pytest.raises(mk.MediakitError, match="deleted or replaced"):
                call()
