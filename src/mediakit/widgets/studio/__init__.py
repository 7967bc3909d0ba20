"""The studio: what can be made, what was made and what it cost, in one widget.

It depends on all other widgets.
"""

from mediakit.widgets.studio.controller import Studio

__all__ = ["Studio"]
