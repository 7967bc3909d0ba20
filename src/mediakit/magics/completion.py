"""What the Tab key offers in the line of `%%generate`; pure."""

from __future__ import annotations

import re
from collections.abc import Mapping

from mediakit.catalog import Catalog, Function
from mediakit.completion import Offer, choices_offer, functions_offer
from mediakit.errors import InputError
from mediakit.magics.arguments import OWN, option_of, prompt_name

_LINE = re.compile(r"\A\s*%%?generate[ \t]+([^\n]*)\Z")
_WORD = re.compile(r"\S*\Z")


def line_offer(
    code: str, catalog: Catalog, names: Mapping[str, object]
) -> Offer | None:
    """Return what the Tab key offers at the end of a magic's line; None elsewhere."""
    line = _LINE.match(code)
    if line is None:
        return None
    typed = _WORD.search(line[1])
    word = typed[0] if typed else ""
    before = line[1].removesuffix(word).split()
    if not before:
        return functions_offer(word, catalog)
    try:
        function = catalog.function(before[0])
    except InputError:
        return None
    if word.startswith("--") and "=" in word:
        option, _, value = word.partition("=")
        return _values(function, option, value, names)
    if before[-1].startswith("--"):
        offer = _values(function, before[-1], word, names)
        if offer is not None:
            return offer
    return _options(function, word, before)


def _options(function: Function, typed: str, given: list[str]) -> Offer:
    prompt = prompt_name(function)
    fields = [spec for spec in function.fields.values() if spec.name != prompt]
    names = [option_of(spec.name) for spec in fields]
    repeated = {option_of(spec.name) for spec in fields if spec.kind == "list"}
    left = (e for e in (*names, *OWN) if e in repeated or e not in given)
    return Offer.of(typed, left, "option")


def _values(
    function: Function, option: str, typed: str, names: Mapping[str, object]
) -> Offer | None:
    name = option.removeprefix("--").replace("-", "_")
    if name == "take":
        return Offer.of(typed, ("next",), "choice")
    if name == "client":
        clients = (each for each, value in names.items() if hasattr(value, "catalog"))
        return Offer.of(typed, clients, "client")
    spec = function.fields.get(name)
    if spec is None:
        return None
    if spec.kind == "boolean":
        return Offer.of(typed, ("true", "false"), "choice")
    whole = choices_offer(typed, spec)
    numbers = (str(each) for each in spec.choices if not isinstance(each, str))
    more = Offer.of(typed, numbers, "choice")
    texts = (*whole.texts, *more.texts)
    return Offer(typed, texts, "choice") if texts else None
