"""Functions that a document describes: JSON Schema and OpenAPI.

It stands on the schema, and gives what the classes in `functions/` give.
"""
