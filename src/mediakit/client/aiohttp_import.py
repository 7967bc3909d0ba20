"""Imports aiohttp even if SSLKEYLOGFILE names a file that cannot be written.

When imported, aiohttp creates an SSL context, which fails if that file cannot be
written. That context is never used, because https requests have their own.
"""

import os

_key_log = os.environ.pop("SSLKEYLOGFILE", None)
try:
    import aiohttp  # noqa: F401
finally:
    if _key_log is not None:
        os.environ["SSLKEYLOGFILE"] = _key_log
