"""The catalog: finds functions by kind or path, and suggests similar names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

from mediakit.catalog import functions
from mediakit.catalog.function import Function, path_of
from mediakit.catalog.own_rates import OwnRate
from mediakit.errors import InputError
from mediakit.rules import any_of
from mediakit.schema import Declared, MediaRequest

SANDBOX_VENDOR = "sandbox"


def _declared() -> Iterator[type[MediaRequest]]:
    for module in iter_modules(functions.__path__, f"{functions.__name__}."):
        for value in vars(import_module(module.name)).values():
            is_own = getattr(value, "__module__", None) == module.name
            if is_own and isinstance(value, type) and issubclass(value, MediaRequest):
                yield value


REQUEST_TYPES: Mapping[str, type[MediaRequest]] = {
    request_type.declared.kind: request_type
    for request_type in sorted(_declared(), key=lambda t: t.declared.kind)
}


_UNDECLARED = Declared(kind="")


def declared_as(kind: str) -> Declared:
    """Return the declaration of a kind; an empty one for a service's own."""
    request_type = REQUEST_TYPES.get(kind)
    return _UNDECLARED if request_type is None else request_type.declared


@cache
def _default() -> Catalog:
    return Catalog.of(*REQUEST_TYPES.values())


class Catalog:
    """The functions that a service offers, found by kind or by path.

    Args:
        functions: The functions, each with its path.
        left_out: The functions of the service that cannot be used here, by path, with a
            description of their body.
    """

    def __init__(
        self, functions: tuple[Function, ...], left_out: Mapping[str, str] | None = None
    ) -> None:
        self.functions = functions
        self._by_path = {f.path: f for f in functions}
        self.left_out = {
            path: body
            for path, body in (left_out or {}).items()
            if path not in self._by_path
        }
        self._by_kind: dict[str, list[Function]] = {}
        for function in functions:
            self._by_kind.setdefault(function.kind, []).append(function)

    @classmethod
    def default(cls) -> Catalog:
        """Return all declared functions at the sandbox's paths."""
        return _default()

    @classmethod
    def of(cls, *request_types: type[MediaRequest]) -> Catalog:
        """Return the functions of some declarations at the sandbox's paths.

        Args:
            request_types: Subclasses of `MediaRequest`, one for each function.
        """
        return cls(tuple(Function(_sandbox_path(each), each) for each in request_types))

    @classmethod
    def bind(cls, paths: Mapping[str, str | Sequence[str]]) -> Catalog:
        """Return the functions of some kinds, each at the path of a service.

        Args:
            paths: The path `vendor/model/function` by kind, or several of them.

        Raises:
            InputError: A kind is unknown, or a path does not have three segments.
        """
        bound = [
            _bound(kind, path)
            for kind, some in paths.items()
            for path in ([some] if isinstance(some, str) else some)
        ]
        return cls(tuple(bound))

    @classmethod
    def from_openapi(
        cls, document: Mapping[str, Any] | str | Path, *, recognise: bool = True
    ) -> Catalog:
        """Return the functions in a service's OpenAPI document.

        Functions whose bodies are not JSON objects, or whose description is missing,
        are in `left_out`. Files that a file refers to are read if they are in its
        folder.

        Args:
            document: The OpenAPI document (3.0 or 3.1, as JSON): a mapping, the text, a
                file, or an http(s) URL that responds within 10 s without a key.
            recognise: Use a declared function, with its rules and rates, if the
                document describes one; otherwise use the document for all.

        Raises:
            InputError: It cannot be read, or describes no function.
            ServiceError: The environment names a proxy or certificates that the URL
                needs and that cannot be used.
        """
        # Imported here: a sandbox's start does not need it.
        from mediakit.catalog.documents import load
        from mediakit.catalog.openapi_functions import functions_in

        loaded = load(document)
        declared = REQUEST_TYPES if recognise else {}
        return cls(*functions_in(loaded, declared))

    def with_rates(self, rates: Mapping[str, OwnRate]) -> Catalog:
        """Return the catalog with the user's own rates; a path overrides a kind.

        Args:
            rates: The rates, by kind or by path.

        Raises:
            InputError: A name is neither a kind nor a path in this catalog.
        """
        for name in rates:
            if name not in self._by_path and name not in self._by_kind:
                raise InputError("rates", got=name, accepted=self._hint(name))
        priced = (
            f.priced_at(rates.get(f.path) or rates.get(f.kind) or f.rate) for f in self
        )
        return Catalog(tuple(priced), self.left_out)

    def including(self, *functions: Function | type[MediaRequest]) -> Catalog:
        """Return the catalog with more functions; one at a known path is replaced.

        Args:
            functions: Functions, or declarations, which get the sandbox's paths.
        """
        added = [
            f if isinstance(f, Function) else Function(_sandbox_path(f), f)
            for f in functions
        ]
        by_path = self._by_path | {f.path: f for f in added}
        return Catalog(tuple(by_path.values()), self.left_out)

    def __iter__(self) -> Iterator[Function]:
        return iter(self.functions)

    def __len__(self) -> int:
        return len(self.functions)

    def __repr__(self) -> str:
        kinds = ", ".join(sorted(self._by_kind))
        return f"<Catalog of {len(self)} functions: {kinds}>"

    def function(self, name: str) -> Function:
        """Find a function by its path, or by its kind if that is unique.

        Args:
            name: The path or the kind, as text.

        Raises:
            InputError: No function matches, or several do; the message lists the
                nearest names.
        """
        if not isinstance(name, str):
            raise InputError("function", got=name, accepted=self._hint(""))
        if name in self._by_path:
            return self._by_path[name]
        of_kind = self._by_kind.get(name, [])
        if len(of_kind) == 1:
            return of_kind[0]
        if of_kind:
            paths = any_of(f.path for f in of_kind)
            raise InputError("function", got=name, accepted=f"one of the paths {paths}")
        raise InputError("function", got=name, accepted=self._hint(name))

    def _hint(self, name: str) -> str:
        for path, body in self.left_out.items():
            if name and name in (path, path.rsplit("/", 1)[-1]):
                return f"a function whose body is a JSON object; {path} takes {body}"
        if name in REQUEST_TYPES and name not in self._by_kind:
            return (
                f"a bound function; bind this one in mediakit.toml, under "
                f'[functions]: "{name}" = "vendor/model/'
                f'{REQUEST_TYPES[name].declared.function}"'
            )
        names = self._by_path if "/" in name else self._by_kind
        nearest = get_close_matches(name.lower(), names, n=3, cutoff=0.5)
        if nearest:
            return f"a known function; the nearest: {any_of(nearest)}"
        if not names:
            return "a function of this service; none is bound in mediakit.toml"
        return f"a known function: {any_of(sorted(self._by_kind))}"


def _sandbox_path(request_type: type[MediaRequest]) -> str:
    declared = request_type.declared
    return f"{SANDBOX_VENDOR}/{declared.kind}/{declared.function}"


def _bound(kind: str, path: object) -> Function:
    if kind not in REQUEST_TYPES:
        accepted = f"a kind: {any_of(sorted(REQUEST_TYPES))}"
        raise InputError("functions", got=kind, accepted=accepted)
    return Function(path_of(path, f"functions.{kind}"), REQUEST_TYPES[kind])
