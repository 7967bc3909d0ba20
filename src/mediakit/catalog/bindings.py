"""The contents of `mediakit.toml`: a service's paths, rates and OpenAPI document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mediakit.catalog.catalog import Catalog
from mediakit.catalog.own_rates import OwnRate
from mediakit.errors import InputError
from mediakit.rules import any_of

FILE_NAME = "mediakit.toml"
KEYS = ("functions", "rates", "openapi")
PATHS = '"vendor/model/function", or a list of such paths'
EXAMPLE = 'TOML with lines like "text-to-video" = "vendor/model/function"'


@dataclass(frozen=True)
class Bindings:
    """The paths and rates of a service, from the user.

    Args:
        functions: Paths by kind; None if the file has none.
        rates: The user's own rates, by kind or by path.
        openapi: The service's OpenAPI document, a file or a URL; None if the file
            names none.
        source: The file, for errors; None without one.
    """

    functions: Mapping[str, tuple[str, ...]] | None = None
    rates: Mapping[str, OwnRate] = field(default_factory=dict)
    openapi: str | Mapping[str, Any] | None = None
    source: Path | None = None

    @classmethod
    def read(cls, folder: Path, *, own_rates: bool = False) -> Bindings:
        """Read `mediakit.toml` in a folder; empty without the file."""
        import tomllib  # most folders have no such file

        file = folder / FILE_NAME
        if not file.is_file():
            return cls()
        try:
            table = tomllib.loads(file.read_text("utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
            got = f"{file} ({error})"
            raise InputError(FILE_NAME, got=got, accepted=EXAMPLE) from None
        try:
            return cls._of(table, file, own_rates=own_rates)
        except InputError as error:
            raise _in_file(file, error) from None

    @classmethod
    def _of(
        cls, table: Mapping[str, object], file: Path, *, own_rates: bool
    ) -> Bindings:
        for key in table:
            if key not in KEYS:
                raise InputError(key, got=key, accepted=any_of(KEYS))
        functions = table.get("functions")
        rates = _table("rates", table.get("rates", {}))
        return cls(
            None if functions is None else _functions(functions),
            {
                name: OwnRate.read(name, rate, source=file, sets_holds=own_rates)
                for name, rate in rates.items()
            },
            _openapi(table.get("openapi"), file.parent),
            file,
        )

    def catalog(self) -> Catalog:
        """Return the functions of the service, each at its path.

        It has the functions of the OpenAPI document, then those bound by hand, which
        replace the former, all with the user's rates.
        """
        try:
            described = Catalog(())
            if self.openapi is not None:
                described = Catalog.from_openapi(self.openapi)
            bound = Catalog.bind(self.functions or {})
            return described.including(*bound).with_rates(self.rates)
        except InputError as error:
            raise self._with_source(error) from None

    def priced(self, catalog: Catalog) -> Catalog:
        """Return the sandbox's functions with the user's rates.

        Rates for paths of another service are ignored.
        """
        known = {function.path for function in catalog}
        rates = {n: r for n, r in self.rates.items() if "/" not in n or n in known}
        try:
            return catalog.with_rates(rates)
        except InputError as error:
            raise self._with_source(error) from None

    def _with_source(self, error: InputError) -> InputError:
        return error if self.source is None else _in_file(self.source, error)


def _in_file(file: Path, error: InputError) -> InputError:
    field_name = f"{file}: {error.field}"
    return InputError(field_name, got=error.got, accepted=error.accepted)


def _table(name: str, value: object) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise InputError(name, got=value, accepted=f"a table [{name}]")
    return value


def _functions(value: object) -> Mapping[str, tuple[str, ...]]:
    return {
        kind: _paths(f"functions.{kind}", paths)
        for kind, paths in _table("functions", value).items()
    }


def _paths(name: str, value: object) -> tuple[str, ...]:
    paths = [value] if isinstance(value, str) else value
    if not isinstance(paths, list) or not paths:
        raise InputError(name, got=value, accepted=PATHS)
    if not all(isinstance(path, str) for path in paths):
        raise InputError(name, got=value, accepted=PATHS)
    return tuple(paths)


def _openapi(value: object, folder: Path) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str) or not value:
        raise InputError("openapi", got=value, accepted="a file or an http(s) URL")
    if value.startswith(("http://", "https://")):
        return value
    return str(folder / Path(value).expanduser())
