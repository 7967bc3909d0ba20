"""Cards of functions as HTML; pure. Everything from outside is escaped."""

from __future__ import annotations

from html import escape

from mediakit.schema import Purpose
from mediakit.widgets.studio.catalogue.offers import Offer
from mediakit.widgets.studio.catalogue.pictures import picture_html


def heading_html(purpose: Purpose) -> str:
    """Write the heading of a group."""
    return f'<h4 class="mk-st-heading">{escape(purpose)}</h4>'


def offer_html(offer: Offer) -> str:
    """Write an example, when to choose a function and how it is charged."""
    return (
        f'<div class="mk-st-pic">{picture_html(offer.path, offer.purpose)}</div>'
        f'<div class="mk-st-doc">{escape(offer.choose)}</div>'
        f'<div class="mk-st-price">{escape(offer.price)}</div>'
    )
