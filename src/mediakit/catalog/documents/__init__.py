"""Functions that a document describes: JSON Schema and OpenAPI.

It depends on the schema, and makes classes like those in `functions/`.
"""
