"""Signatures of upload URLs: what is granted is exactly what may be put."""

import hashlib
import hmac


class Signer:
    """Signs an upload's file, type, length and end with a secret of the server.

    Args:
        secret: The server's secret; it never leaves it.
    """

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    def __repr__(self) -> str:
        return "<Signer>"

    def sign(
        self, file: str, content_type: str, content_length: str, expires_us: str
    ) -> str:
        """Return the signature of a grant; the words are those of the headers."""
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
        """Tell whether a signature is that of these words, in constant time."""
        expected = self.sign(file, content_type, content_length, expires_us)
        return hmac.compare_digest(expected.encode(), signature.encode())
