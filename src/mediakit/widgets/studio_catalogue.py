"""The functions of a service as they are offered in the studio; pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from mediakit.catalog import Catalog, Function
from mediakit.catalog.examples import FILES, SITE, example, variations
from mediakit.errors import InputError
from mediakit.history.storage.search_text import folded, words_of
from mediakit.rates import Line
from mediakit.schema import InputFacts, MediaName
from mediakit.widgets.words import title_of

MAKES: dict[MediaName, str] = {
    "video": "a video",
    "image": "a picture",
    "audio": "a sound",
}
NO_RATE = "no rate is known; it is not free"
CLIP_S = 5
FACTS = InputFacts(seconds={f"{SITE}/{name}": CLIP_S for name in FILES.values()})
SHOWN_OFFERS = 60


@dataclass(frozen=True)
class Offer:
    """One function, in words.

    Args:
        path: Where it is served.
        title: Its name for people.
        doc: One sentence about it.
        makes: What it makes, such as "a video".
        charged: How it is charged, such as "from $0.053 per s".
        names: Further words that it is found by.
    """

    path: str
    title: str
    doc: str
    makes: str
    charged: str
    names: str

    @cached_property
    def searched(self) -> str:
        """Return what a search looks through."""
        told = (self.title, self.doc, self.makes, self.charged, self.names, self.path)
        return folded("\n".join(told))


def offer_of(function: Function) -> Offer:
    """Return a function as it is offered."""
    return Offer(
        path=function.path,
        title=title_of(function),
        doc=function.doc,
        makes=MAKES[function.media_type],
        charged=charged_text(function),
        names=f"{function.kind} {function.media_type}",
    )


def offers_of(catalog: Catalog) -> tuple[Offer, ...]:
    """Return all functions of a catalogue, in the order of their names."""
    return tuple(sorted(map(offer_of, catalog), key=lambda offer: offer.title.lower()))


def matching(offers: Iterable[Offer], text: str) -> tuple[Offer, ...]:
    """Return the offers in which every word of a text occurs."""
    words = words_of(text)
    return tuple(o for o in offers if all(word in o.searched for word in words))


def charged_text(function: Function) -> str:
    """Write how a function is charged, by what its price is mostly made of.

    Where the rate depends on a field, it is the lowest one of a short request.
    """
    lines = list(_first_lines(function))
    alike = [line for line in lines if line.per is lines[0].per]
    if not alike:
        return NO_RATE
    lowest = min(alike, key=lambda line: line.rate_micro_usd_per_million)
    rates = {line.rate_micro_usd_per_million for line in lines}
    return lowest.rate_text if len(rates) == 1 else f"from {lowest.rate_text}"


def _first_lines(function: Function) -> Iterator[Line]:
    body = example(function)
    bodies = (body, *(other for _, other in variations(function, body)))
    for each in bodies:
        try:
            yield from function.estimate(each, FACTS).lines[:1]
        except InputError:  # a combination that is not offered has no price
            continue
