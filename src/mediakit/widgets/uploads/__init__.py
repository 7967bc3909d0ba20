"""Uploads from the browser, of any size.

It makes no widgets and depends on the media.
"""
