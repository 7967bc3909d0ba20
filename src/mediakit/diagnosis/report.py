"""The findings as text that fits on one screen."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from textwrap import fill

WIDTH = 88
BULLET = "  - "


@dataclass(frozen=True)
class Finding:
    """One finding.

    Args:
        name: Its name, such as "Service".
        text: Its description.
        is_ok: Whether everything is all right.
    """

    name: str
    text: str
    is_ok: bool = True


@dataclass(frozen=True)
class Diagnosis:
    """The findings of `mk.doctor()`; their text is the report.

    Args:
        findings: The findings.
        advice: What is missing, and what installs or fixes it.
    """

    findings: tuple[Finding, ...]
    advice: tuple[str, ...] = ()

    @property
    def is_ok(self) -> bool:
        """Tell whether all findings are all right."""
        return all(finding.is_ok for finding in self.findings)

    def __str__(self) -> str:
        return "\n".join(self._lines())

    __repr__ = __str__

    def _lines(self) -> Iterator[str]:
        width = max((len(finding.name) for finding in self.findings), default=0) + 2
        for finding in self.findings:
            mark = " " if finding.is_ok else "!"
            start = f"{mark} {finding.name:{width}}"
            yield _wrapped(start, finding.text)
        if self.advice:
            yield ""
            yield "To do:"
            yield from (_wrapped(BULLET, text) for text in self.advice)


def _wrapped(start: str, text: str) -> str:
    return fill(
        " ".join(text.split()),
        WIDTH,
        initial_indent=start,
        subsequent_indent=" " * len(start),
        # An address or a path is one word, so that it can be copied.
        break_long_words=False,
        break_on_hyphens=False,
    )
