"""The scores of outputs.

`mediakit_scores` has each answer once, by the hash of the scorer's input: the file, or
the file and its row. `mediakit_job_scores` has the jobs of each answer, and the judge's
charge for each job, even without a usable answer.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Select, and_, func, select

from mediakit.history.tables import hashes, insert_into, job_scores, upsert
from mediakit.history.tables import scores as answers

if TYPE_CHECKING:
    from mediakit.history.store import History

REASON, JUDGE_COST = "reason", "judge_cost_micro_usd"
Value = float | str
"""The value of a score; NaN means unknown."""


@dataclass(frozen=True)
class Score:
    """A scorer's answer about the output of a job, or only its cost.

    Args:
        scorer: The qualified name of the function or class.
        version: The scorer's version; empty if unknown, so that the score is never
            reused.
        seen: The hash of the scorer's input: the output, or the output and its row.
        cost_micro_usd: The charge of the judge for this output, over all calls; None if
            unknown, or if the answer for another output was reused.
        scored_at: When the output was scored; None if there is no usable answer.
    """

    job_id: str
    scorer: str
    version: str
    seen: str
    values: Mapping[str, Value]
    reason: str | None = None
    cost_micro_usd: int | None = None
    scored_at: datetime | None = None


_COLUMNS = (
    *(job_scores.c[name] for name in ("job_id", "scorer", "version", "seen")),
    *(answers.c.score, job_scores.c.cost_micro_usd, answers.c.scored_at),
)
_IS_ITS = and_(
    *(answers.c[name] == job_scores.c[name] for name in ("seen", "scorer", "version"))
)


def save(history: History, score: Score, *, service: str, account: str) -> None:
    """Save a score, which replaces an earlier one for the same input and version."""
    history.refuse_replaced()
    now = history.clock.now()
    content = (
        score.values if score.reason is None else {**score.values, REASON: score.reason}
    )
    key = {name: getattr(score, name) for name in ("seen", "scorer", "version")}
    answer = {**key, "score": json.dumps(dict(content)), "scored_at": now}
    owner = {"service": service, "account": account}
    with history.database.writing() as db:
        upsert(db, answers, [answer], update=("score", "scored_at"))
        _add_cost(db, score, **owner, used_at=now)


def save_cost(history: History, score: Score, *, service: str, account: str) -> None:
    """Save the charge of a judge for an unusable answer."""
    history.refuse_replaced()
    owner = {"service": service, "account": account}
    with history.database.writing() as db:
        _add_cost(db, score, **owner, used_at=history.clock.now())


def _add_cost(db: Connection, score: Score, **values: Any) -> None:
    """Add the cost of an answer to those of earlier answers to the same question."""
    names = ("job_id", "scorer", "version", "seen", "cost_micro_usd")
    row = {name: getattr(score, name) for name in names} | values
    new = insert_into(db.dialect.name, job_scores)
    earlier, cost = job_scores.c.cost_micro_usd, new.excluded.cost_micro_usd
    changes = {
        "cost_micro_usd": func.coalesce(earlier + cost, cost, earlier),
        "used_at": new.excluded.used_at,
    }
    key = list(job_scores.primary_key)
    db.execute(new.on_conflict_do_update(index_elements=key, set_=changes), row)


def unanswered_cost_micro_usd(
    history: History,
    input_hashes: Mapping[str, str],
    scorer: str,
    version: str,
    *,
    service: str,
    account: str,
) -> int:
    """Return the charges of a scorer for these jobs that brought no answer."""
    query = scores_query().where(
        *(job_scores.c.service == service, job_scores.c.account == account),
        *(job_scores.c.scorer == scorer, job_scores.c.version == version),
        answers.c.scored_at.is_(None),
    )
    rows = history.database.rows_with(query, job_scores.c.job_id, input_hashes)
    return sum(
        score.cost_micro_usd or 0
        for score in map(score_of, rows)
        if input_hashes[score.job_id] == score.seen
    )


def reuse(
    history: History,
    input_hashes: Mapping[str, str],
    scorer: str,
    version: str,
    *,
    service: str,
    account: str,
) -> None:
    """Make stored answers the latest scores of these jobs, by the scorer's input."""
    owner = {"service": service, "account": account}
    table = job_scores.c
    query = (
        select(table.job_id, table.scorer, table.version, table.seen)
        .where(table.service == service, table.account == account)
        .order_by(table.used_at)
    )
    rows = history.database.rows_with(query, table.job_id, input_hashes)
    last = {job_id: tuple(rest) for job_id, *rest in rows}
    key = {"scorer": scorer, "version": version}
    now = {"used_at": history.clock.now(), "cost_micro_usd": None}
    changed = [
        {**owner, "job_id": job_id, **key, "seen": each, **now}
        for job_id, each in input_hashes.items()
        if last.get(job_id) != (scorer, version, each)
    ]
    if changed:
        history.refuse_replaced()
        history.database.save(job_scores, changed, update=("used_at",))


def stored(
    history: History, input_hashes: Iterable[str], scorer: str, version: str
) -> dict[str, tuple[dict[str, Value], str | None]]:
    """Return the values and reason of a scorer's answers, by its input."""
    query = select(answers.c.seen, answers.c.score).where(
        answers.c.scorer == scorer, answers.c.version == version
    )
    rows = history.database.rows_with(query, answers.c.seen, input_hashes)
    return {key: _read(score) for key, score in rows}


def of_jobs(
    history: History, job_ids: Iterable[str], *, service: str, account: str
) -> list[Score]:
    """Return all scores of these jobs, the most recently used last."""
    query = scores_query().where(
        job_scores.c.service == service, job_scores.c.account == account
    )
    rows = history.database.rows_with(query, job_scores.c.job_id, job_ids)
    return [score_of(row) for row in sorted(rows, key=lambda row: row.used_at)]


def scores_query() -> Select[Any]:
    """Select scores for `score_of`, the most recently used last."""
    query = select(*_COLUMNS, job_scores.c.used_at).select_from(job_scores)
    return query.outerjoin(answers, _IS_ITS).order_by(job_scores.c.used_at)


def score_of(row: Any) -> Score:
    """Convert a row of `scores_query` to a score."""
    job_id, scorer, version, input_hash, score, cost_micro_usd, scored_at = row[:7]
    values, reason = _read(score or "{}")
    rest = (values, reason, cost_micro_usd, scored_at)
    return Score(job_id, scorer, version, input_hash, *rest)


def _read(score: str) -> tuple[dict[str, Value], str | None]:
    values: dict[str, Value] = json.loads(score)
    reason = values.pop(REASON, None)
    return values, None if reason is None or reason != reason else str(reason)


# -- in frames and on pages -----------------------------------------------------------


def visible(scores: Sequence[Score], *, by_job: bool = False) -> dict[str, list[Score]]:
    """Return the current scores of each job.

    A name has the values of the scorer and version that used it last, so that all
    values of a column have one meaning.

    Args:
        scores: The scores, the most recently used last.
        by_job: Select the latest score for each job separately.
    """
    source = {
        (name, by_job and score.job_id): (score.scorer, score.version)
        for score in scores
        for name in score.values
    }
    last = {
        (each.job_id, each.scorer, each.version): each
        for each in scores
        if each.scored_at is not None
    }
    result: dict[str, list[Score]] = {}
    for score in last.values():
        values = {
            name: value
            for name, value in score.values.items()
            if source[name, by_job and score.job_id] == (score.scorer, score.version)
        }
        if values or not score.values:
            whole = len(values) == len(score.values)
            part = score if whole else replace(score, values=values)
            result.setdefault(score.job_id, []).append(part)
    return result


def reason_text(scores: Sequence[Score]) -> str | None:
    """Return the reason of a job's scores; several are prefixed by their names."""
    reasons = [each for each in scores if each.reason]
    if len(reasons) < 2:
        return reasons[0].reason if reasons else None
    names = (", ".join(each.values) or each.scorer for each in reasons)
    return "; ".join(
        f"{name}: {each.reason}" for name, each in zip(names, reasons, strict=True)
    )


def scores_text(scores: Sequence[Score]) -> str:
    """Return a job's scores and reasons as text: "stars 4 (The kite is small.)"."""
    texts = []
    for score in scores:
        words = [_value_text(*item) for item in score.values.items()]
        text = ", ".join(filter(None, words))
        reason = f"({score.reason})" if text and score.reason else score.reason
        texts.append(" ".join(filter(None, (text, reason))))
    return ", ".join(filter(None, texts))


def _value_text(name: str, value: Value) -> str:
    if isinstance(value, str):
        return f"{name}: {value}"
    if math.isnan(value):
        return ""
    return f"{name} {value:,.0f}" if abs(value) >= 10_000 else f"{name} {value:z.4g}"


def cost_micro_usd(scores: Iterable[Score]) -> int | None:
    """Return the charges of the judges, in micro-USD; None if none is known."""
    costs = [each.cost_micro_usd for each in scores if each.cost_micro_usd is not None]
    return sum(costs) if costs else None


# -- the hashes of outputs ------------------------------------------------------------


def save_sha256(
    history: History, job_id: str, sha256: str, *, service: str, account: str
) -> None:
    """Save the hash of an output, so that it is not downloaded again."""
    row = {"service": service, "account": account, "job_id": job_id, "sha256": sha256}
    history.database.save(hashes, [row], update=("sha256",))


def sha256s(
    history: History, job_ids: Iterable[str], *, service: str, account: str
) -> dict[str, str]:
    """Return the known hashes of outputs, in hex, by job id."""
    query = select(hashes.c.job_id, hashes.c.sha256).where(
        hashes.c.service == service, hashes.c.account == account
    )
    return dict(history.database.rows_with(query, hashes.c.job_id, job_ids))
