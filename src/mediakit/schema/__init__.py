"""The base class of requests, and their fields as forms, checks and documents use them.

Only this package inspects pydantic; all others use `FieldSpec`.
"""

from mediakit.schema.bodies import (
    canonical_body,
    canonical_json,
    text_json,
    with_defaults,
)
from mediakit.schema.checking import NULL, check, own_problems, read
from mediakit.schema.fields import FieldKind, FieldSpec, fields_of, is_open
from mediakit.schema.json_schemas import json_schema
from mediakit.schema.purposes import Purpose
from mediakit.schema.requests import (
    HTTP_PATTERN,
    AudioReference,
    AudioUrl,
    Declared,
    ImageReference,
    ImageUrl,
    InputFacts,
    MaskOf,
    MediaKind,
    MediaName,
    MediaRequest,
    NotNull,
    Omittable,
    OneOf,
    Part,
    Prompt,
    Seed,
    Shape,
    Unique,
    Unit,
    VideoReference,
    VideoUrl,
    WholeChoice,
    by_shape,
    shape_of,
)

__all__ = [
    "HTTP_PATTERN",
    "NULL",
    "AudioReference",
    "AudioUrl",
    "Declared",
    "FieldKind",
    "FieldSpec",
    "ImageReference",
    "ImageUrl",
    "InputFacts",
    "MaskOf",
    "MediaKind",
    "MediaName",
    "MediaRequest",
    "NotNull",
    "Omittable",
    "OneOf",
    "Part",
    "Prompt",
    "Purpose",
    "Seed",
    "Shape",
    "Unique",
    "Unit",
    "VideoReference",
    "VideoUrl",
    "WholeChoice",
    "by_shape",
    "canonical_body",
    "canonical_json",
    "check",
    "fields_of",
    "is_open",
    "json_schema",
    "own_problems",
    "read",
    "shape_of",
    "text_json",
    "with_defaults",
]
