"""Finds the words in which nearly equal texts differ."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import groupby

Marked = list[tuple[str, bool]]
"""A text in pieces, and whether each piece differs from the other texts."""

_TOKEN = re.compile(r"\s+|\w+|[^\w\s]")
# Only this many texts are compared to find the common parts.
READ_AT_MOST = 200


def marked(texts: Sequence[str]) -> list[Marked]:
    """Split texts into common and differing parts."""
    different = list(dict.fromkeys(texts))
    common = _common([_tokens(text) for text in different[:READ_AT_MOST]])
    if len(different) < 2 or not any(token.isalnum() for token in common):
        return [[(text, False)] for text in texts]
    pieces = {text: _pieces(_tokens(text), common) for text in different}
    return [pieces[text] for text in texts]


def _tokens(text: str) -> list[str]:
    return _TOKEN.findall(text)


def _common(texts: Sequence[list[str]]) -> list[str]:
    common = _words(texts[0]) if texts else []
    for text in texts[1:]:
        words = _words(text)
        blocks = SequenceMatcher(None, common, words, autojunk=False)
        common = [
            word
            for block in blocks.get_matching_blocks()
            for word in common[block.a : block.a + block.size]
        ]
    return common


def _words(tokens: Sequence[str]) -> list[str]:
    return [token for token in tokens if not token.isspace()]


def _pieces(tokens: list[str], common: list[str]) -> Marked:
    words = [at for at, token in enumerate(tokens) if not token.isspace()]
    matcher = SequenceMatcher(
        None, common, [tokens[at] for at in words], autojunk=False
    )
    shared = {
        words[at]
        for block in matcher.get_matching_blocks()
        for at in range(block.b, block.b + block.size)
    }
    own = [at in set(words) - shared for at in range(len(tokens))]
    for at, token in enumerate(tokens):
        # White space between two differing words differs, too.
        if token.isspace() and 0 < at < len(tokens) - 1:
            own[at] = own[at - 1] and own[at + 1]
    together = groupby(zip(tokens, own, strict=True), key=lambda pair: pair[1])
    return [
        ("".join(text for text, _ in group), differs) for differs, group in together
    ]
