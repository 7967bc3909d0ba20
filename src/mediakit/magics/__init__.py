"""Magics for IPython and notebooks: `%%generate`, `%jobs` and `%balance`."""

from mediakit.magics.magics import MediakitMagics, load

__all__ = ["MediakitMagics", "load"]
