"""Renders the sandbox's media for real, in a process of its own (spec 4).

`python -m mediakit.sandbox.render` reads one order per line and writes one answer
per line; `mediakit.sandbox.jobs.renderer` holds the server's end of the two pipes. The
process boundary keeps the decoding of hostile files, and the memory that encoders
hold on to, away from the notebook's kernel.
"""
