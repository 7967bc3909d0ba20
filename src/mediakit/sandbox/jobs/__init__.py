"""Running and pricing accepted jobs: inputs, renderer, dispatcher and retention.

It stands on `core`, on the guard of `delivery` and on the worker processes of `render`.
"""
