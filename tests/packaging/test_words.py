"""Source, documents, notebooks and the names of tests do not use retired words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
READ = ("src", "docs", "notebooks", "examples", "benchmarks", "tools", "Makefile")
PAGES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")
SUFFIXES = (".py", ".js", ".css", ".md", ".ipynb", "")

RETIRED = {
    "purses?": "budget",
    "errands?": "task",
    "buyers?": "client",
    "ledgers?": "history",
    "purchase[sd]?|purchasing": "submission",
    "buy|buys|buying|bought": "submit, pay for, or reuse an existing job",
    "intents?": "submission, or unanswered",
    "stayings?": "unanswered submission",
    "alarms?": "timer",
    "glances?": "summary",
    "kits?": "context",
    "at the door": "on submission",
    "doors?": "API, or the name of the function",
    "turn(s|ed|ing)?( them| it)? away": "reject",
    "mend(s|ed|ing)?": "fix",
    "rubbish": "garbage",
    "(take[sn]?|taking|took)( it| them)? up(?! to)": "resume",
    "let(s|ting)?( it| them)? go": "release",
    "(go|goes|going|went|gone) on": "continue",
    "ask(s|ed|ing)?( for it| it)? again": "retry, or submit again",
    "whoever": "the actor, such as the poller or the caller",
    "anew": "again",
    "told": "reported, notified or given",
    "what (came|comes|is told|was told|is said|was said)": "the value, or the response",
    "news": "changes",
    "on (its|their) way": "in flight, or pending",
    "all the same": "anyway",
    "due longest": "most overdue",
    "stands? (on|for)": "depends on, or means",
    "rests? on": "depends on",
    "so many": "the number of",
    "at the (most|least)": "at most, or at least",
    "for want of": "because there is no",
}
"""Patterns of retired words, with what to write instead."""

LOOKS = r"(?<![A-Za-z])looks(?=\.|\[| = )|(?<=class )Looks"
"""The name of a cache; "looks like" and "looks up" are allowed."""

# Words of one phrase can be on two lines, or be parts of one identifier.
GAP = r'(?:\\n",)?[\s_#"*]+'
START = r"(?:(?<![A-Za-z])|(?<=[a-z])(?=[A-Z]))"
END = r"(?![a-z])(?!(?<=[A-Z]{2})[A-Z])"
LEDGER = "ledger", ("src/mediakit/sandbox/store/", "tests/sandbox/store/")
"""A word that is allowed for one thing: the append-only table of the sandbox."""
TEST_NAME = re.compile(r"^ *(?:async )?def (test_\w+)", re.M)
INSTEAD = [*RETIRED.values(), "cache, or the name of its content"]


def pattern() -> re.Pattern[str]:
    """Return one pattern with a group for each entry, which is faster than many."""
    spaced = [words.replace(" ", GAP) for words in RETIRED]
    groups = [f"(?P<w{n}>(?i:{words}))" for n, words in enumerate(spaced)]
    retired = rf"{START}(?:{'|'.join(groups)}){END}"
    return re.compile(rf"{retired}|(?P<w{len(groups)}>{LOOKS})")


PATTERN = pattern()


def files() -> Iterator[Path]:
    for name in (*READ, *PAGES):
        root = ROOT / name
        for path in sorted(root.rglob("*")) if root.is_dir() else [root]:
            if path.is_file() and path.suffix in SUFFIXES:
                yield path


def text_of(path: Path) -> str:
    """Return the text of a file; of the changelog only the unreleased part."""
    text = path.read_text("utf-8")
    if path.name != "CHANGELOG.md":
        return text
    head, unreleased, rest = text.partition("## [Unreleased]")
    return head + unreleased + re.split(r"^## ", rest, maxsplit=1, flags=re.M)[0]


def hits(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield the line, the words that were found, and what to write instead."""
    for match in PATTERN.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        words = re.findall(r"[A-Za-z]+", match[0].replace("\\n", " "))
        yield line, " ".join(words), INSTEAD[int(str(match.lastgroup)[1:])]


def is_allowed(words: str, name: str) -> bool:
    allowed, paths = LEDGER
    return words.lower() == allowed and name.startswith(paths)


def test_the_source_and_the_documents_use_no_retired_word() -> None:
    found = [
        f'{name}:{line}: "{words}"; write: {instead}'
        for path in files()
        for name in [path.relative_to(ROOT).as_posix()]
        for line, words, instead in hits(text_of(path))
        if not is_allowed(words, name)
    ]
    assert not found, "\n".join(["Retired words:", *found])


def test_no_test_has_a_retired_word_in_its_name() -> None:
    found = [
        f'{name}: {test}: "{words}"; write: {instead}'
        for path in sorted((ROOT / "tests").rglob("*.py"))
        for name in [path.relative_to(ROOT).as_posix()]
        for test in [path.stem, *TEST_NAME.findall(path.read_text("utf-8"))]
        for _, words, instead in hits(test)
        if not is_allowed(words, name)
    ]
    assert not found, "\n".join(["Retired words:", *found])


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("a turn of the\n# purse", 2, "purse"),
        ("what is turned\n    # away", 1, "turned away"),
        ("class PurseError:", 1, "Purse"),
        ("def taken_up(self):", 1, "taken up"),
        ("self._looks.get(key)", 1, "looks"),
        ('"it goes\\n",\n    "on"', 1, "goes on"),
        ("is_intent = True", 1, "intent"),
    ],
)
def test_a_retired_word_is_found_in_prose_and_in_names(
    text: str, line: int, words: str
) -> None:
    assert [(at, found) for at, found, _ in hits(text)] == [(line, words)]


@pytest.mark.parametrize(
    "text",
    [
        "it takes up to 5 s",
        "it looks like a path",
        "the intention",
    ],
)
def test_other_words_are_allowed(text: str) -> None:
    assert not list(hits(text))


def test_a_word_can_be_allowed_under_some_paths_alone() -> None:
    assert is_allowed("ledger", "src/mediakit/sandbox/store/holds_and_charges.py")
    assert not is_allowed("ledger", "src/mediakit/sandbox/api/billing.py")
    assert not is_allowed("purse", "src/mediakit/sandbox/store/holds_and_charges.py")
