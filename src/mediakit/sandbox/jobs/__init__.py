"""Running and pricing accepted jobs: inputs, runner and renderer.

It depends on `events`, `outbound` and the worker processes of `render`.
"""
