"""Sources of media for a form: files, earlier results, and painted masks.

They depend on uploads and on previews of jobs.
"""
