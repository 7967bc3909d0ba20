"""The scenes that the worker can render, one for each kind of function.

It depends on all other rooms of the renderer.
"""
