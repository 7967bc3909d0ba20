"""The functions in the studio's list: title, purpose and price."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mediakit.catalog import Catalog, Function
from mediakit.catalog.examples import FILES, SITE, example, variations
from mediakit.errors import InputError
from mediakit.estimates import Line, PriceUnit
from mediakit.history.search import folded
from mediakit.media_limits import MediaName
from mediakit.schema import InputFacts, Purpose

MAKES: dict[MediaName, str] = {
    "video": "video clip",
    "image": "picture",
    "audio": "sound",
}
NO_RATE = "price unknown; you will be charged"
BY_TOKENS = "billed by tokens used"
UNITS = ((" per s", " a second"), (" per image", " an image"), (" per ", " a "))
CLIP_S = 5
FACTS = InputFacts(seconds={f"{SITE}/{name}": CLIP_S for name in FILES.values()})


@dataclass(frozen=True)
class FunctionOffer:
    """A function's entry in the list."""

    path: str
    title: str
    purpose: Purpose
    choose: str
    price: str
    searched: str


def offers_of(catalog: Catalog) -> tuple[FunctionOffer, ...]:
    """Return all functions of a catalog, sorted by group and name."""

    def place(function: Function) -> tuple[int, bool, list[str]]:
        needs_more = not function.kind.startswith("text-")
        name = function.title.lower().split(" · ")
        return list(Purpose).index(function.purpose), needs_more, name

    return tuple(map(offer_of, sorted(catalog, key=place)))


def offer_of(function: Function) -> FunctionOffer:
    declared = function.declared
    choose, price = declared.choose or function.doc, price_text(function)
    makes = f"{function.kind} {function.media_type} {MAKES[function.media_type]}"
    texts = (function.title, function.purpose, choose, price, function.doc, makes)
    return FunctionOffer(
        path=function.path,
        title=function.title,
        purpose=function.purpose,
        choose=choose,
        price=price,
        searched=folded("\n".join((*texts, function.path))),
    )


def price_text(function: Function) -> str:
    """Return a function's price in words, from its largest part."""
    lines = list(_first_lines(function))
    alike = [line for line in lines if line.per is lines[0].per]
    if not alike:
        return NO_RATE
    if alike[0].per is PriceUnit.TOKEN:
        return BY_TOKENS
    lowest = min(alike, key=lambda line: line.rate_micro_usd_per_million)
    rates = {line.rate_micro_usd_per_million for line in lines}
    unit, words = next(each for each in UNITS if each[0] in lowest.rate_text)
    text = lowest.rate_text.replace(unit, words)
    return text if len(rates) == 1 else f"from {text}"


def _first_lines(function: Function) -> Iterator[Line]:
    body = example(function)
    bodies = (body, *(other for _, other in variations(function, body)))
    for each in bodies:
        try:
            yield from function.estimate(each, FACTS).lines[:1]
        except InputError:  # a combination that is not offered has no price
            continue
