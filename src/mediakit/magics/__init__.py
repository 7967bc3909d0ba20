"""Magics for IPython and notebooks: `%%generate`, `%jobs` and `%balance`.

They depend on the client and the widgets.
"""

from mediakit.magics.magics import MediakitMagics, load

__all__ = ["MediakitMagics", "load"]
