"""The declaration of a request, and its fields as forms, checks and documents use them.

Pydantic classes declare functions and compute their prices. Their JSON Schema, and that
of a service, is read as `FieldSpec`; all others use only that.
"""

from mediakit.estimates import InputFacts
from mediakit.schema.fields import FieldKind, FieldSpec, fields_of, schema_of
from mediakit.schema.json_schema import body_of
from mediakit.schema.requests import (
    AudioReference,
    AudioUrl,
    Declared,
    ImageReference,
    ImageUrl,
    MaskOf,
    MediaRequest,
    Omittable,
    Part,
    Prompt,
    Purpose,
    Seed,
    Unit,
    VideoReference,
    VideoUrl,
)
from mediakit.schema.validation import (
    canonical_body,
    canonical_json,
    problems_in,
    text_json,
    with_defaults,
)

__all__ = [
    "AudioReference",
    "AudioUrl",
    "Declared",
    "FieldKind",
    "FieldSpec",
    "ImageReference",
    "ImageUrl",
    "InputFacts",
    "MaskOf",
    "MediaRequest",
    "Omittable",
    "Part",
    "Prompt",
    "Purpose",
    "Seed",
    "Unit",
    "VideoReference",
    "VideoUrl",
    "body_of",
    "canonical_body",
    "canonical_json",
    "fields_of",
    "problems_in",
    "schema_of",
    "text_json",
    "with_defaults",
]
