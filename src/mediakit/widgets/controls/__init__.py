"""The controls of fields, and the texts about fields that users see.

A control is two files with one name: a `Control` in Python, and its counterpart in
JavaScript. To add one, add the two files here, and the control to `CONTROLS`. Nothing
here names a form or a particular field.
"""

from mediakit.widgets.controls.choice import Choice
from mediakit.widgets.controls.control import (
    CONTROLS,
    Control,
    Payload,
    Wire,
    field_payload,
    held,
    media_specs,
    shown,
)
from mediakit.widgets.controls.either import Either
from mediakit.widgets.controls.items import Items
from mediakit.widgets.controls.json import Json
from mediakit.widgets.controls.json_values import Unreadable
from mediakit.widgets.controls.media import Media
from mediakit.widgets.controls.media_list import MediaList
from mediakit.widgets.controls.number import Number
from mediakit.widgets.controls.object import Object
from mediakit.widgets.controls.rows import Rows
from mediakit.widgets.controls.switch import Switch
from mediakit.widgets.controls.text import Text
from mediakit.widgets.controls.variants import Variants

CONTROLS += [
    Text(),
    Number(),
    Choice(),
    Switch(),
    Media(),
    MediaList(),
    Items(),
    Rows(),
    Json(),
    Object(),
    Variants(),
    Either(),
]

__all__ = [
    "CONTROLS",
    "Control",
    "Payload",
    "Unreadable",
    "Wire",
    "field_payload",
    "held",
    "media_specs",
    "shown",
]
