"""All declared model functions, from the folder `functions`."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from pkgutil import iter_modules

from mediakit.catalog import functions
from mediakit.schema import MediaRequest


def _declared() -> Iterator[type[MediaRequest]]:
    for found in iter_modules(functions.__path__, f"{functions.__name__}."):
        module = import_module(found.name)
        for value in vars(module).values():
            if _is_declaration(value) and value.__module__ == module.__name__:
                yield value


def _is_declaration(value: object) -> bool:
    return (
        isinstance(value, type)
        and issubclass(value, MediaRequest)
        and value is not MediaRequest
    )


REQUEST_TYPES: Mapping[str, type[MediaRequest]] = {
    request_type.declared.kind: request_type
    for request_type in sorted(_declared(), key=lambda t: t.declared.kind)
}
