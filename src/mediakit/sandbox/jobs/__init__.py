"""Running and pricing accepted jobs: inputs, renderer, runner and retention.

It depends on `events`, `outbound` and the worker processes of `render`.
"""
