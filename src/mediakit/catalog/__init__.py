"""The catalog: every model function by its short name and by its path.

It depends on the schema. Each function is one class in `functions/`.
"""

from mediakit.catalog.bindings import Bindings
from mediakit.catalog.catalog import REQUEST_TYPES, Catalog
from mediakit.catalog.function import Described, Function, MediaItem, title_at
from mediakit.catalog.own_rates import OwnRate

__all__ = [
    "REQUEST_TYPES",
    "Bindings",
    "Catalog",
    "Described",
    "Function",
    "MediaItem",
    "OwnRate",
    "title_at",
]
