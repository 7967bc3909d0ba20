"""Media controls: paths, URLs and uploads, and the properties of each medium.

It depends on the base of all controls and on the uploads.
"""
