"""Classes for the objects in a document.

No part of a document is executed, and no name in it replaces an existing attribute:
such a field has its name as an alias.
"""

import keyword
import re
from collections.abc import Mapping
from typing import Any, TypeVar, get_origin

from pydantic import create_model
from pydantic.fields import FieldInfo

from mediakit.catalog.documents.references import Json, text_of
from mediakit.schema import MediaRequest, Part

PartType = TypeVar("PartType", bound=Part)

MAX_NAME_LENGTH = 60
_ATTRIBUTE = re.compile(r"(?!field_\d)[A-Za-z][A-Za-z0-9_]*")


def is_attribute(name: str) -> bool:
    """Return whether a field's name can be the name of an attribute, too."""
    fits = _ATTRIBUTE.fullmatch(name) is not None and not keyword.iskeyword(name)
    taken = hasattr(MediaRequest, name) or name in MediaRequest.__annotations__
    return fits and not taken


def class_name(text: str) -> str:
    """Make a class name from the letters and digits of a text."""
    words = re.findall(r"[A-Za-z0-9]+", text)
    name = "".join(word[0].upper() + word[1:] for word in words)
    return name.lstrip("0123456789")[:MAX_NAME_LENGTH] or "Object"


def made_class(
    base: type[PartType],
    name: str,
    schema: Json,
    fields: Mapping[str, tuple[Any, FieldInfo]],
    *,
    is_open: bool,
    further: Any = Any,
    **declared: object,
) -> type[PartType]:
    """Make the class of an object or a request.

    Args:
        base: Its base class.
        name: Its name.
        schema: The source of its title and description.
        fields: Its fields, by the names of their attributes.
        is_open: Accept further properties.
        further: The type of these.
        declared: Its other class keywords.
    """
    extra = {} if further is Any else {"__pydantic_extra__": (dict[str, further], ...)}
    made: type[PartType] = create_model(  # type: ignore[call-overload]
        name,
        __base__=base,
        __doc__=text_of(schema, "description"),
        __module__=__name__,
        __cls_kwargs__={
            "extra": "allow" if is_open else "forbid",
            # If pydantic cannot build a validator, refuse the document now.
            "defer_build": False,
            **declared,
        },
        **extra,
        **fields,
    )
    return made


def origin_of(made: type[Part], field: str) -> object:
    """Return the origin of the type of a field, such as `Literal`."""
    return get_origin(made.model_fields[field].annotation)
