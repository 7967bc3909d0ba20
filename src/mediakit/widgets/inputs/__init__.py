"""Other sources of media for a form: results from the history, and painted masks.

It depends on the controls of media and on the previews of jobs.
"""
