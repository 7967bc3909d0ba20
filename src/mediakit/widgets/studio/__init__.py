"""The studio: what can be made, what was made and what it cost, in one widget."""

from mediakit.widgets.studio.studio import Studio

__all__ = ["Studio"]
