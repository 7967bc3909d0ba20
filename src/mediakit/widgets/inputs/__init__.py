"""Sources of media for a form: files, results from the history, and painted masks.

It depends on the uploads and on the previews of jobs.
"""
