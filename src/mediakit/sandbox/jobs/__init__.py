"""Running and pricing accepted jobs: inputs, renderer, runner and retention.

It depends on `core`, the guard of `delivery` and the worker processes of `render`.
"""
