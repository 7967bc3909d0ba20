"""Renders the sandbox's media in a process of its own (spec 4).

`python -m mediakit.sandbox.render` reads one request per line and writes one response
per line; `mediakit.sandbox.jobs.renderer` is the server side. The process boundary
protects the notebook's kernel from hostile files, and from memory that encoders do not
release.
"""
