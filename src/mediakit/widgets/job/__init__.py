"""A job in the cell: live while it runs, and as a static card in the saved notebook.

It depends on the client; text and HTML are pure, and the view carries them.
"""
