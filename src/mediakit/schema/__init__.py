"""Declarations of requests, and their fields for forms, checks and documents.

Pydantic classes declare functions and compute their prices. Their JSON Schema, like
that of a service, is read as `FieldSpec`, which is all that other packages use.
"""

from mediakit.estimates import InputFacts as InputFacts
from mediakit.schema.facts import FieldKind as FieldKind
from mediakit.schema.facts import Marker as Marker
from mediakit.schema.facts import MaskOf as MaskOf
from mediakit.schema.facts import Prompt as Prompt
from mediakit.schema.facts import Seed as Seed
from mediakit.schema.facts import Title as Title
from mediakit.schema.facts import Unit as Unit
from mediakit.schema.fields import FieldSpec as FieldSpec
from mediakit.schema.fields import fields_of as fields_of
from mediakit.schema.fields import schema_of as schema_of
from mediakit.schema.from_json_schema import body_of as body_of
from mediakit.schema.requests import AudioReference as AudioReference
from mediakit.schema.requests import AudioUrl as AudioUrl
from mediakit.schema.requests import Declared as Declared
from mediakit.schema.requests import ImageReference as ImageReference
from mediakit.schema.requests import ImageUrl as ImageUrl
from mediakit.schema.requests import MediaRequest as MediaRequest
from mediakit.schema.requests import Omittable as Omittable
from mediakit.schema.requests import Part as Part
from mediakit.schema.requests import Purpose as Purpose
from mediakit.schema.requests import VideoReference as VideoReference
from mediakit.schema.requests import VideoUrl as VideoUrl
from mediakit.schema.validation import canonical_body as canonical_body
from mediakit.schema.validation import canonical_json as canonical_json
from mediakit.schema.validation import problems_in as problems_in
from mediakit.schema.validation import stripped as stripped
from mediakit.schema.validation import text_json as text_json
from mediakit.schema.validation import with_defaults as with_defaults
