"""The studio: functions, history and spend in one widget.

It depends on all other widgets.
"""

from mediakit.widgets.studio.controller import Studio

__all__ = ["Studio"]
