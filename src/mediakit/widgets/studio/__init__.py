"""The studio: functions, forms, history and spend in one place."""

from mediakit.widgets.studio.studio import Studio

__all__ = ["Studio"]
