"""Blocking methods, generated from asynchronous ones."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from functools import update_wrapper
from typing import Any, Concatenate, NoReturn, ParamSpec, TypeVar, overload

from mediakit.client.io_thread import io_thread

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
FaceT = TypeVar("FaceT")
MethodT = TypeVar("MethodT", bound=Callable[..., Any])


class Blocking:
    """Base class whose methods block on the asynchronous methods of `core`."""

    core: Any

    def __init__(self, core: Any) -> None:
        self.core = core

    def __repr__(self) -> str:
        return repr(self.core)

    def __dir__(self) -> list[str]:
        # Tab completion is for users, so it hides internals.
        return sorted({*super().__dir__()} - {"core", "io"})

    def _call(
        self, method: Callable[P, Awaitable[T]], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run a method of `core` and wait for its result."""
        return io_thread().call(method, *args, **kwargs)


@overload
def blocking(
    method: Callable[Concatenate[Any, P], Awaitable[T]], /
) -> Callable[Concatenate[Any, P], T]: ...


@overload
def blocking(
    method: Callable[Concatenate[Any, P], Awaitable[T]],
    then: Callable[[FaceT, T], R],
    /,
) -> Callable[Concatenate[FaceT, P], R]: ...


def blocking(
    method: Callable[..., Awaitable[Any]],
    then: Callable[[Any, Any], Any] | None = None,
    /,
) -> Callable[..., Any]:
    """Return the blocking version of an asynchronous method.

    `then` makes the result from `self` and the asynchronous result.
    """
    name, takes = method.__name__, inspect.signature(method)

    def call(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        try:
            takes.bind(self, *args, **kwargs)
        except TypeError as error:
            # Python's own message would name the asynchronous class.
            text = f"{type(self).__name__}.{name}() got wrong arguments: {error}"
            raise TypeError(text) from None
        result = self._call(getattr(self.core, name), *args, **kwargs)
        return result if then is None else then(self, result)

    update_wrapper(call, method)
    if then is not None and then is not itself:
        result_type = inspect.signature(then).return_annotation
        signature = inspect.signature(method).replace(return_annotation=result_type)
        vars(call)["__signature__"] = signature
    return call


def documented_by(source: Callable[..., Any], /) -> Callable[[MethodT], MethodT]:
    """Append the sections of another method's docstring."""
    rest = inspect.cleandoc(source.__doc__ or "").partition("\n\n")[2]

    def documented(method: MethodT) -> MethodT:
        method.__doc__ = f"{inspect.cleandoc(method.__doc__ or '')}\n\n{rest}".strip()
        return method

    return documented


def explained_by(
    source: Callable[Concatenate[Any, P], Any], /
) -> Callable[[Callable[..., R]], Callable[Concatenate[Any, P], R]]:
    """Copy the signature and the documentation of another method.

    Arguments that the method does not name are in its `**asked`.
    """

    def explained(method: Callable[..., R]) -> Callable[Concatenate[Any, P], R]:
        own = inspect.signature(method)
        signature = inspect.signature(source).replace(
            return_annotation=own.return_annotation
        )
        vars(method)["__signature__"] = signature
        return documented_by(source)(method)

    return explained


def itself(face: FaceT, _: object, /) -> FaceT:
    """Return the blocking object, for asynchronous methods that return `self`."""
    return face


class ProcessBound:
    """An object that belongs to one process, and so cannot be pickled."""

    _instead = "create one there, such as with mediakit.connect()"

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"a {type(self).__name__} stays in its process, with its API key and its "
            f"connections; {self._instead}"
        )
