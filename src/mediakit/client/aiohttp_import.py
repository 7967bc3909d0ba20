"""Imports aiohttp whatever SSLKEYLOGFILE names: it is needed for https only.

aiohttp makes an SSL context when it is imported, which fails if that file cannot be
written. That context is never used: requests over https have one of their own.
"""

import os

_key_log = os.environ.pop("SSLKEYLOGFILE", None)
try:
    import aiohttp  # noqa: F401
finally:
    if _key_log is not None:
        os.environ["SSLKEYLOGFILE"] = _key_log
