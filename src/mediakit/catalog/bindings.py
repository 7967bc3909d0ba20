"""Reads `mediakit.toml`: a service's paths, rates, document and reports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from mediakit.catalog.catalog import Catalog
from mediakit.catalog.own_rates import RATE_KEYS, OwnRate
from mediakit.errors import InputError
from mediakit.rules import Problem
from mediakit.schema import FieldSpec, problems_in

FILE_NAME = "mediakit.toml"
EXAMPLE = 'TOML with lines like "text-to-video" = "vendor/model/function"'


_PATH = FieldSpec("", "text")
_PATHS = FieldSpec("", "list", min_length=1, item=_PATH)
_FUNCTION = FieldSpec("", "either", variants={"value": _PATH, "list": _PATHS})
_RATE = FieldSpec("", "object", fields={n: FieldSpec(n, "json") for n in RATE_KEYS})
_NAME = FieldSpec("", "text", min_length=1)
_FILE = FieldSpec(
    "",
    "object",
    fields={
        "functions": FieldSpec("", "object", closed=False, further=_FUNCTION),
        "rates": FieldSpec("", "object", closed=False, further=_RATE),
        "openapi": FieldSpec("", "text", min_length=1),
        "reports": FieldSpec(
            "", "object", fields=dict.fromkeys(("charge", "charge_usd"), _NAME)
        ),
    },
)
KEYS = tuple(_FILE.fields)


@dataclass(frozen=True)
class Bindings:
    """The user's description of a service: paths by kind, rates by kind or path.

    `reports` names the charge column of its reports.
    """

    functions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    rates: Mapping[str, OwnRate] = field(default_factory=dict)
    openapi: str | Mapping[str, Any] | None = None
    source: Path | None = None
    reports: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, folder: Path, *, own_rates: bool = False) -> Bindings:
        """Read `mediakit.toml` in a folder; empty without the file."""
        import tomllib  # most folders have no mediakit.toml

        file = folder / FILE_NAME
        if not file.is_file():
            return cls()
        try:
            table = tomllib.loads(file.read_text("utf-8"))
        except (
            tomllib.TOMLDecodeError,
            UnicodeDecodeError,
            RecursionError,
            OSError,
        ) as error:
            text = f"{file} ({error})"
            raise InputError(FILE_NAME, got=text, accepted=EXAMPLE) from None
        with _named(file):
            return cls._of(table, file, own_rates=own_rates)

    @classmethod
    def _of(cls, table: Mapping[str, Any], file: Path, *, own_rates: bool) -> Bindings:
        problems = [*problems_in(_FILE, table)]
        if problems:
            raise InputError.of(problems)
        functions = {
            kind: (paths,) if isinstance(paths, str) else tuple(paths)
            for kind, paths in table.get("functions", {}).items()
        }
        rates = {
            name: OwnRate.from_table(name, rate, source=file, sets_holds=own_rates)
            for name, rate in table.get("rates", {}).items()
        }
        openapi = table.get("openapi")
        if openapi and not openapi.startswith(("http://", "https://")):
            openapi = str(file.parent / Path(openapi).expanduser())
        return cls(functions, rates, openapi, file, table.get("reports", {}))

    def catalog(self) -> Catalog:
        """Return the functions of the service, each at its path.

        These are the functions of the OpenAPI document, replaced or extended by those
        bound by hand, all with the user's rates.
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
        paths = {function.path for function in catalog}
        rates = {n: r for n, r in self.rates.items() if "/" not in n or n in paths}
        with _named(self.source):
            return catalog.with_rates(rates)


@contextmanager
def _named(file: Path | None) -> Iterator[None]:
    """Add the file's name to errors that its contents cause."""
    try:
        yield
    except InputError as error:
        if file is None:
            raise
        wrong = error.problems or [Problem(error.field, error.got, error.accepted)]
        named = [replace(each, field=f"{file}: {each.field}") for each in wrong]
        raise InputError.of(named) from None
