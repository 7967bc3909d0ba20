"""Magics for IPython and notebooks: `%%generate`, `%jobs` and `%balance`.

They stand on the client and the widgets.
"""

from mediakit.magics.magics import MediakitMagics, load

__all__ = ["MediakitMagics", "load"]
