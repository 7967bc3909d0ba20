"""Functions that a document describes: JSON Schema and OpenAPI."""
