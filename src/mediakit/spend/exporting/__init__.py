"""Spend frames as files: CSV, Parquet and Excel, and charges in FOCUS columns.

It depends only on frames.
"""

from mediakit.spend.exporting.files import SUFFIXES, export, export_bytes
from mediakit.spend.exporting.focus import to_focus
from mediakit.spend.exporting.values import add_usd

__all__ = ["SUFFIXES", "add_usd", "export", "export_bytes", "to_focus"]
