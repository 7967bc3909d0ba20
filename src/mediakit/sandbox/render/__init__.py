"""Renders the sandbox's media for real, in a process of its own (spec 4).

`python -m mediakit.sandbox.render` reads one request per line and writes one
response per line; `mediakit.sandbox.jobs.renderer` is the server side. The process
boundary keeps the decoding of hostile files, and the memory that encoders do not
release, away from the notebook's kernel.
"""
