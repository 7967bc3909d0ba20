"""Accessible names for surrounding controls, and protection from double clicks."""

from __future__ import annotations

from mediakit.widgets.toolkit.browser_script import TOOLKIT, script_of
from mediakit.widgets.toolkit.saved_copies import CardsWidget


class Namer(CardsWidget):
    """Names sliders, buttons and live regions around it, and guards paid buttons."""

    _esm = script_of(TOOLKIT, "accessible_names.js")
