"""Write the outputs of a sweep to a folder, with a manifest and an HTML report.

It uses the frame of the results and a function that fetches a file. The folder can be
anywhere that the client can save results to.
"""

from mediakit.sweep.exporting.writing import Exported, export

__all__ = ["Exported", "export"]
