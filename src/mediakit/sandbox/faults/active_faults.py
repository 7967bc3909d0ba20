"""The faults in force; each part of the sandbox asks which one applies to it.

Each query that finds a counted rule counts it down. Faults are kept in memory: a
restarted sandbox has none.
"""

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from mediakit.catalog import Catalog
from mediakit.errors import InputError
from mediakit.records import ErrorCode
from mediakit.sandbox.faults.fault_rules import FaultKind, Rule
from mediakit.sandbox.store.database import Database

# The admin interface is exempt, so that a fault can always be cleared.
_ADMIN_PATH = "/sandbox/"


@dataclass(frozen=True)
class StatusFault:
    """A response in place of the real one.

    Args:
        status: The HTTP status.
        message: Its message.
        text: A body in place of `{message}`, as from a gateway; None for none.
        retry_after_s: Its `Retry-After`; None for no such header.
        after: Whether the request is handled anyway.
    """

    status: int
    message: str
    text: str | None
    retry_after_s: int | None
    after: bool


@dataclass(frozen=True)
class Truncation:
    """A truncated response.

    Args:
        bytes_n: The bytes of its body that are sent; None for the first half.
    """

    bytes_n: int | None


@dataclass
class Fault:
    """A rule in force.

    Args:
        id: Its id.
        rule: Its rule.
        left_n: How often it can still happen; None for no limit.
        created_us: When it was added.
    """

    id: str
    rule: Rule
    left_n: int | None
    created_us: int


class Faults:
    """The scripted faults of one sandbox.

    Args:
        db: The database, to find the function of a job that is read.
        catalog: The functions, so that a rule can name one by its kind.
    """

    def __init__(self, db: Database, catalog: Catalog) -> None:
        self._db = db
        self._kinds = {function.path: function.kind for function in catalog}
        self._faults: list[Fault] = []

    @property
    def scripted(self) -> bool:
        """Return whether a fault is in force."""
        return bool(self._faults)

    def check_function(self, rule: Rule) -> None:
        """Check that a rule's function is served.

        Raises:
            InputError: It is not.
        """
        if rule.function is not None and not any(
            rule.covers_function(path, self._kinds) for path in self._kinds
        ):
            raise InputError(
                "where.function",
                got=rule.function,
                accepted="the kind or the path of a function that is served",
                then="Nothing was changed.",
            )

    def in_force(self) -> list[Fault]:
        """List the faults that can still happen, oldest first."""
        return list(self._faults)

    def add(self, rule: Rule, now_us: int) -> Fault:
        """Put a rule in force."""
        fault = Fault(f"fault_{uuid.uuid4()}", rule, rule.count, now_us)
        self._faults.append(fault)
        return fault

    def remove(self, fault_id: str) -> bool:
        """Remove a fault; False when there is none with this id."""
        before_n = len(self._faults)
        self._faults = [each for each in self._faults if each.id != fault_id]
        return len(self._faults) < before_n

    def clear(self) -> int:
        """Remove all faults; return how many were still in force."""
        n = len(self._faults)
        self._faults = []
        return n

    def latency_s(self, method: str, path: str) -> float:
        """Return how long a request is delayed, real seconds; usually 0."""
        rule = self._for_request(FaultKind.LATENCY, method, path)
        return 0.0 if rule is None else float(rule.parameters["seconds"])

    def drop_before(self, method: str, path: str) -> bool:
        """Return whether a connection is closed before anything is done."""
        return self._for_request(FaultKind.DROP_BEFORE, method, path) is not None

    def drop_after(self, method: str, path: str) -> bool:
        """Return whether a connection is closed once everything is done."""
        return self._for_request(FaultKind.DROP_AFTER, method, path) is not None

    def status(self, method: str, path: str) -> StatusFault | None:
        """Return the response in place of a request's real one."""
        rule = self._for_request(FaultKind.STATUS, method, path)
        if rule is None:
            return None
        status: int = rule.parameters["status"]
        after: bool = rule.parameters["after"]
        message = rule.parameters["message"] or (
            f"A scripted fault of the sandbox returned {status}. "
            f"The request was {'handled' if after else 'not handled'}."
        )
        text, retry_after_s = rule.parameters["text"], rule.parameters["retry_after"]
        return StatusFault(status, message, text, retry_after_s, after)

    def truncation(self, method: str, path: str) -> Truncation | None:
        """Return where a response is truncated; None when it is not."""
        rule = self._for_request(FaultKind.TRUNCATE, method, path)
        return None if rule is None else Truncation(rule.parameters["bytes"])

    def bytes_per_s(self, method: str, path: str) -> float | None:
        """Return the speed of a throttled response, bytes a real second, or None."""
        rule = self._for_request(FaultKind.SLOW, method, path)
        return None if rule is None else float(rule.parameters["bytes_per_s"])

    def outage(self, function: str) -> bool:
        """Return whether submissions to a function find the service unavailable."""
        return self._for_function(FaultKind.OUTAGE, function) is not None

    def stuck_functions(self) -> list[str]:
        """List the paths of the functions whose queued jobs do not start."""
        stuck = self._of_kind(FaultKind.STUCK_QUEUE)
        return [
            path
            for path in self._kinds
            if any(rule.covers_function(path, self._kinds) for rule in stuck)
        ]

    def fail_render(self, function: str) -> tuple[ErrorCode, str] | None:
        """Return the code and message with which a starting job fails."""
        rule = self._for_function(FaultKind.FAIL_RENDER, function)
        if rule is None:
            return None
        code = ErrorCode(rule.parameters["code"])
        message = "A scripted fault of the sandbox failed the job. Nothing was charged."
        return code, rule.parameters["message"] or message

    def late_settlement_s(self, function: str) -> float:
        """Return the delay of a job's settlement, sandbox seconds; usually 0."""
        rule = self._for_function(FaultKind.LATE_SETTLEMENT, function)
        return 0.0 if rule is None else float(rule.parameters["seconds"])

    def drifted_micro_usd(
        self, function: str, charge_micro_usd: int, *, hold_micro_usd: int
    ) -> int:
        """Return the charge of a completing job once its rate has drifted.

        Args:
            function: The function's path.
            charge_micro_usd: Its charge by the price list.
            hold_micro_usd: Its hold, which is the most it may cost.
        """
        rule = self._for_function(FaultKind.RATE_DRIFT, function)
        if rule is None:
            return charge_micro_usd
        factor = Fraction(str(rule.parameters["factor"]))
        return min(round(charge_micro_usd * factor), hold_micro_usd)

    def billing_unavailable(self, job_id: str) -> bool:
        """Return whether the charge of an ended job cannot be read."""
        if not self._of_kind(FaultKind.BILLING_UNAVAILABLE):
            return False
        job = self._db.row("SELECT function FROM job WHERE id = ?", job_id)
        if job is None:
            return False
        rule = self._for_function(FaultKind.BILLING_UNAVAILABLE, job["function"])
        return rule is not None

    def _for_request(self, kind: FaultKind, method: str, path: str) -> Rule | None:
        if not self._faults or path.startswith(_ADMIN_PATH):
            return None
        return self._take(
            kind, lambda rule: rule.covers_request(method, path, self._kinds)
        )

    def _for_function(self, kind: FaultKind, function: str) -> Rule | None:
        return self._take(
            kind, lambda rule: rule.covers_function(function, self._kinds)
        )

    def _take(self, kind: FaultKind, covers: Callable[[Rule], bool]) -> Rule | None:
        """Find the oldest rule that applies, and count it down."""
        for fault in self._faults:
            if fault.rule.kind is kind and covers(fault.rule):
                if fault.left_n is not None:
                    fault.left_n -= 1
                if fault.left_n == 0:
                    self.remove(fault.id)
                return fault.rule
        return None

    def _of_kind(self, kind: FaultKind) -> list[Rule]:
        return [fault.rule for fault in self._faults if fault.rule.kind is kind]
