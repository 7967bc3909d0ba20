"""Names to functions: kinds, paths, and the nearest names of a wrong one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches

from mediakit.catalog.function import Function
from mediakit.catalog.image_upscale import ImageUpscale
from mediakit.catalog.keyframes import Keyframes
from mediakit.catalog.r1 import ReferenceToVideoR1
from mediakit.catalog.text_to_video import TextToVideo
from mediakit.errors import InputError
from mediakit.rules import any_of
from mediakit.schema import MediaRequest

DECLARED: tuple[type[MediaRequest], ...] = (
    ImageUpscale,
    Keyframes,
    ReferenceToVideoR1,
    TextToVideo,
)
REQUEST_TYPES: Mapping[str, type[MediaRequest]] = {
    request_type.declared.kind: request_type for request_type in DECLARED
}


class Catalog:
    """The functions that a service offers, found by kind or by path.

    Args:
        functions: The functions, each with its path.
    """

    def __init__(self, functions: tuple[Function, ...]) -> None:
        self.functions = functions
        self._by_path = {f.path: f for f in functions}
        self._by_kind: dict[str, list[Function]] = {}
        for function in functions:
            self._by_kind.setdefault(function.kind, []).append(function)

    @classmethod
    def default(cls) -> Catalog:
        """Return every known function at the sandbox's paths."""
        return cls.bind(
            {
                kind: f"sandbox/{kind}/{request_type.declared.function}"
                for kind, request_type in REQUEST_TYPES.items()
            }
        )

    @classmethod
    def bind(cls, paths: Mapping[str, str]) -> Catalog:
        """Return the functions of some kinds, each at the path of a service.

        Args:
            paths: The path `vendor/model/function` by kind.

        Raises:
            InputError: A kind is unknown, or a path has not three segments.
        """
        return cls(tuple(_bound(kind, path) for kind, path in paths.items()))

    def __iter__(self) -> Iterator[Function]:
        return iter(self.functions)

    def __len__(self) -> int:
        return len(self.functions)

    def __repr__(self) -> str:
        kinds = ", ".join(sorted(self._by_kind))
        return f"<Catalog of {len(self)} functions: {kinds}>"

    def function(self, name: str) -> Function:
        """Find a function by its path, or by its kind where that is unambiguous.

        Raises:
            InputError: There is none, or there are several; the message lists the
                nearest names.
        """
        if name in self._by_path:
            return self._by_path[name]
        of_kind = self._by_kind.get(name, [])
        if len(of_kind) == 1:
            return of_kind[0]
        if of_kind:
            paths = any_of(f.path for f in of_kind)
            raise InputError("function", got=name, accepted=f"one path of {paths}")
        raise InputError("function", got=name, accepted=self._hint(name))

    def _hint(self, name: str) -> str:
        if name in REQUEST_TYPES:
            return (
                f"a bound function; bind this one in mediakit.toml, under "
                f'[functions]: "{name}" = "vendor/model/'
                f'{REQUEST_TYPES[name].declared.function}"'
            )
        names = self._by_path if "/" in name else self._by_kind
        nearest = get_close_matches(name.lower(), names, n=3, cutoff=0.5)
        if nearest:
            return f"a known function; the nearest: {any_of(nearest)}"
        return f"a known function: {any_of(sorted(self._by_kind))}"


def _bound(kind: str, path: str) -> Function:
    request_type = REQUEST_TYPES.get(kind)
    if request_type is None:
        raise InputError(
            "functions", got=kind, accepted=f"a kind: {any_of(sorted(REQUEST_TYPES))}"
        )
    segments = path.strip("/").split("/")
    if len(segments) != 3 or not all(segments):
        raise InputError(
            f"functions.{kind}", got=path, accepted="vendor/model/function"
        )
    return Function("/".join(segments), request_type)
