"""Controls of media: paths, URLs and uploads, and what was found out about each.

It depends on the base of all controls and on the uploads.
"""
