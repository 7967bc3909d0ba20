"""The table of acts is unambiguous, and the same for a live job and its history row."""

from __future__ import annotations

from pathlib import Path

from mediakit import Client
from mediakit.client.job_acts import ACTS, standing_of, standing_of_entry
from tests.support.samples.media_samples import make_png


def test_no_two_acts_have_a_name_a_label_or_a_key_in_common() -> None:
    for facts in (
        [act.name for act in ACTS],
        [act.label for act in ACTS],
        [act.key.lower() for act in ACTS if act.key],
    ):
        assert len(facts) == len(set(facts))


def test_a_paid_act_declares_the_source_of_its_price() -> None:
    for act in ACTS:
        assert act.is_paid or act.price is None
        if act.is_paid and act.do is not None:
            assert act.price is not None


def test_a_live_job_and_its_row_in_the_history_offer_the_same_acts(
    client: Client, tmp_path: Path
) -> None:
    picture = make_png(tmp_path / "in.png", (96, 64))
    job = client.submit("image-upscale", image_url=str(picture), take="next")
    offers = []
    job.settle()
    for forgets in (False, True):
        entry = client.components.store.find(job.id)
        assert entry is not None
        live, stored = standing_of(job.state), standing_of_entry(entry)
        names = [a.name for a in ACTS if a.name != "compare" and a.can(stored)]
        assert names == [a.name for a in ACTS if a.name != "compare" and a.can(live)]
        offers.append(set(names))
        job.erase(forget=forgets)
    assert {"take", "use", "download", "save", "erase", "rate"} <= offers[0]
    assert "forget" in offers[1]
    assert not {"take", "use", "download", "save", "erase", "rate"} & offers[1]
