"""The functions of a service with title, price and purpose; pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from mediakit.catalog import Catalog, Function
from mediakit.catalog.examples import FILES, SITE, example, variations
from mediakit.errors import InputError
from mediakit.estimates import Line, Per
from mediakit.forks import cached_property
from mediakit.history.entry import folded, words_of
from mediakit.media_limits import MediaName
from mediakit.schema import InputFacts, Purpose

MAKES: dict[MediaName, str] = {
    "video": "video clip",
    "image": "picture",
    "audio": "sound",
}
NO_RATE = "price unknown; you will be charged"
BY_TOKENS = "billed by tokens"
UNITS = ((" per s", " a second"), (" per image", " an image"), (" per ", " a "))
CLIP_S = 5
FACTS = InputFacts(seconds={f"{SITE}/{name}": CLIP_S for name in FILES.values()})
SHOWN_OFFERS = 60


@dataclass(frozen=True)
class Offer:
    """One function, in words.

    Args:
        path: Where it is served.
        title: Its name for people.
        purpose: What people want of it.
        choose: When to choose it, or else what it does.
        price: How it is charged, such as "from $0.068 a second".
        names: Further words that it is found by.
    """

    path: str
    title: str
    purpose: Purpose
    choose: str
    price: str
    names: str

    @cached_property
    def searched(self) -> str:
        """Return what a search looks through."""
        texts = (self.title, self.purpose, self.choose, self.price, self.names)
        return folded("\n".join((*texts, self.path)))


def offer_of(function: Function) -> Offer:
    """Return a function as it is offered."""
    declared = function.declared
    makes = MAKES[function.media_type]
    return Offer(
        path=function.path,
        title=function.title,
        purpose=function.purpose,
        choose=declared.choose or function.doc,
        price=price_text(function),
        names=f"{function.kind} {function.media_type} {makes} {function.doc}",
    )


def offers_of(catalog: Catalog) -> tuple[Offer, ...]:
    """Return all functions of a catalogue, group by group and then by name.

    In a group, what needs words alone comes first.
    """
    return tuple(sorted(map(offer_of, catalog), key=_place))


def _place(offer: Offer) -> tuple[int, bool, list[str]]:
    needs_more = not offer.names.startswith("text-")
    name = offer.title.lower().split(" · ")
    return list(Purpose).index(offer.purpose), needs_more, name


def matching(offers: Iterable[Offer], text: str) -> tuple[Offer, ...]:
    """Return the offers in which every word of a text occurs."""
    words = words_of(text)
    return tuple(o for o in offers if all(word in o.searched for word in words))


def grouped(offers: Iterable[Offer]) -> dict[Purpose, tuple[Offer, ...]]:
    """Return offers by what people want of them; groups without any are left out."""
    groups: dict[Purpose, tuple[Offer, ...]] = {}
    for offer in offers:
        groups[offer.purpose] = (*groups.get(offer.purpose, ()), offer)
    return groups


def price_text(function: Function) -> str:
    """Write how a function is charged, by what its price is mostly made of.

    Where the rate depends on a field, it is the lowest one of a short request.
    """
    lines = list(_first_lines(function))
    alike = [line for line in lines if line.per is lines[0].per]
    if not alike:
        return NO_RATE
    if alike[0].per is Per.TOKEN:
        return BY_TOKENS
    lowest = min(alike, key=lambda line: line.rate_micro_usd_per_million)
    rates = {line.rate_micro_usd_per_million for line in lines}
    text = _spoken(lowest.rate_text)
    return text if len(rates) == 1 else f"from {text}"


def _spoken(rate: str) -> str:
    unit, words = next(each for each in UNITS if each[0] in rate)
    return rate.replace(unit, words)


def _first_lines(function: Function) -> Iterator[Line]:
    body = example(function)
    bodies = (body, *(other for _, other in variations(function, body)))
    for each in bodies:
        try:
            yield from function.estimate(each, FACTS).lines[:1]
        except InputError:  # a combination that is not offered has no price
            continue
