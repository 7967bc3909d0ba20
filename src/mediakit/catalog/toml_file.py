"""The contents of `mediakit.toml`: a service's paths, rates and OpenAPI document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
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
    """What the user says of a service: paths by kind, and rates by kind or path."""

    functions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
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
        with _named(file):
            return cls._of(table, file, own_rates=own_rates)

    @classmethod
    def _of(
        cls, table: Mapping[str, object], file: Path, *, own_rates: bool
    ) -> Bindings:
        for key in table:
            if key not in KEYS:
                raise InputError(key, got=key, accepted=any_of(KEYS))
        functions = _table("functions", table.get("functions", {}))
        rates = _table("rates", table.get("rates", {}))
        return cls(
            {
                kind: _paths(f"functions.{kind}", each)
                for kind, each in functions.items()
            },
            {
                name: OwnRate.from_table(name, rate, source=file, sets_holds=own_rates)
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
        with _named(self.source):
            described = Catalog(())
            if self.openapi is not None:
                described = Catalog.from_openapi(self.openapi)
            bound = Catalog.bind(self.functions)
            return described.including(*bound).with_rates(self.rates)

    def priced(self, catalog: Catalog) -> Catalog:
        """Return the sandbox's functions with the user's rates.

        Rates for paths of another service are ignored.
        """
        known = {function.path for function in catalog}
        rates = {n: r for n, r in self.rates.items() if "/" not in n or n in known}
        with _named(self.source):
            return catalog.with_rates(rates)


@contextmanager
def _named(file: Path | None) -> Iterator[None]:
    """Name the file in the errors that its contents cause."""
    try:
        yield
    except InputError as error:
        if file is None:
            raise
        field_name = f"{file}: {error.field}"
        raise InputError(field_name, got=error.got, accepted=error.accepted) from None


def _table(name: str, value: object) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise InputError(name, got=value, accepted=f"a table [{name}]")
    return value


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
