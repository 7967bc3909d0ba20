"""Cards of functions as HTML; pure."""

from __future__ import annotations

from markupsafe import Markup

from mediakit.schema import Purpose
from mediakit.widgets.studio.catalogue.offers import Offer
from mediakit.widgets.studio.catalogue.pictures import picture_html


def heading_html(purpose: Purpose) -> Markup:
    """Write the heading of a group."""
    return Markup('<h4 class="mk-st-heading">{}</h4>').format(purpose)


def offer_html(offer: Offer) -> Markup:
    """Write an example, when to choose a function and how it is charged."""
    return Markup(
        '<div class="mk-st-pic">{}</div><div class="mk-st-doc">{}</div>'
        '<div class="mk-st-price">{}</div>'
    ).format(picture_html(offer.path, offer.purpose), offer.choose, offer.price)
