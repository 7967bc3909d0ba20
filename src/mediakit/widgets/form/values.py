"""The values of a form, to be read and set in code."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

Read = Callable[[], Mapping[str, object]]
Write = Callable[[Mapping[str, object]], None]


class FormValues(Mapping[str, Any]):
    """What the fields of a form hold, always as it is now.

    Setting a value moves the form's controls, and what people do in the form can be
    read here at once:

        form.values.duration = 7
        form.values.update(prompt="a kite", resolution="1080p")
        form.values["duration"]

    A field whose name is a method of mappings, such as "items", is there with
    brackets only. None stands for "not sent"; set, it gives a field its default back.

    Args:
        read: Returns the value of each field.
        write: Sets some of them, all or none.
    """

    def __init__(self, read: Read, write: Write) -> None:
        # Plain assignment sets a field.
        vars(self).update(_read=read, _write=write)

    def __getitem__(self, name: str) -> Any:
        return vars(self)["_read"]()[name]

    def __setitem__(self, name: str, value: object) -> None:
        vars(self)["_write"]({name: value})

    def __iter__(self) -> Iterator[str]:
        return iter(vars(self)["_read"]())

    def __len__(self) -> int:
        return len(vars(self)["_read"]())

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            known = ", ".join(self)
            raise AttributeError(f"no field {name!r}; the fields: {known}") from None

    def __setattr__(self, name: str, value: object) -> None:
        self[name] = value

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *(name for name in self if name.isidentifier())]

    def __repr__(self) -> str:
        return f"<values {dict(self)!r}>"

    def update(
        self, values: Mapping[str, object] | None = None, /, **more: object
    ) -> None:
        """Set several fields at once; when one of them cannot be set, none is.

        Args:
            values: Values by field.
            more: The same as keywords.

        Raises:
            InputError: There is no such field, or its control cannot show the value.
            ConflictError: The form is closed.
        """
        vars(self)["_write"]({**(values or {}), **more})

    def _ipython_key_completions_(self) -> list[str]:
        return list(self)
