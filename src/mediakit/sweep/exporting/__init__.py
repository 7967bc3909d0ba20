"""Writes what a sweep made to a folder: the files, a manifest and a page.

It takes the frame of the results and a function that fetches a file; the folder may be
any that the client can save results to.
"""

from mediakit.sweep.exporting.writing import Exported, export

__all__ = ["Exported", "export"]
