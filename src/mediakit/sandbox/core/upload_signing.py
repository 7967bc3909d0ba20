"""Signatures of upload URLs: only exactly the granted upload is accepted."""

import hashlib
import hmac


class Signer:
    """Signs an upload's file, type, length and expiry with a secret of the server.

    Args:
        secret: The server's secret; it never leaves the server.
    """

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    def __repr__(self) -> str:
        return "<Signer>"

    def sign(
        self, file: str, content_type: str, content_length: str, expires_us: str
    ) -> str:
        """Return the signature of a grant; the values are those of the headers."""
        text = "\n".join((file, content_type, content_length, expires_us))
        return hmac.new(self._secret, text.encode(), hashlib.sha256).hexdigest()

    def accepts(
        self,
        signature: str,
        file: str,
        content_type: str,
        content_length: str,
        expires_us: str,
    ) -> bool:
        """Return whether a signature is that of these values, in constant time."""
        expected = self.sign(file, content_type, content_length, expires_us)
        return hmac.compare_digest(expected.encode(), signature.encode())
