"""The catalog: every model function by its short name and by its path."""

from mediakit.catalog.catalog import Catalog
from mediakit.catalog.function import Function, MediaItem

__all__ = ["Catalog", "Function", "MediaItem"]
