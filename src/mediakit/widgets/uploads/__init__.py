"""Uploads from the browser, of any size, and completion of paths.

It makes no widgets and depends on the media; the controls of media use it.
"""
