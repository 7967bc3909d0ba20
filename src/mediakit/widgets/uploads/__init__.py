"""Files from the browser, of any size, and paths that complete as people type.

It makes no widgets and depends on the media; the controls of media use it.
"""
