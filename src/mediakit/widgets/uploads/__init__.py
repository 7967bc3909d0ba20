"""Files from the browser, of any size, and paths that complete as people type.

It stands on the toolkit alone; the controls of media use it.
"""
