"""The catalog: every model function, by kind and by path.

It depends on the schema. Each function is one class in `functions/`.
"""

from mediakit.catalog.bindings import Bindings as Bindings
from mediakit.catalog.catalog import REQUEST_TYPES as REQUEST_TYPES
from mediakit.catalog.catalog import Catalog as Catalog
from mediakit.catalog.catalog import declared_as as declared_as
from mediakit.catalog.function import Function as Function
from mediakit.catalog.function import MediaItem as MediaItem
from mediakit.catalog.function import SchemaDeclaration as SchemaDeclaration
from mediakit.catalog.function import title_at as title_at
from mediakit.catalog.own_rates import OwnRate as OwnRate
