"""The studio and the spend dashboard as pages without a notebook.

It depends on nothing of mediakit: its pages import the public face in their kernels.
"""
