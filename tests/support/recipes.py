"""A saved file without its recipe, so that it can be compared with the service's."""

from __future__ import annotations

from mediakit.client.recipes import parse_recipe

XMP_BOX = b"uuid" + bytes.fromhex("be7acfcb97a942e89c71999491e3afac")


def delivered(content: bytes) -> bytes:
    """Return a file, which must have a recipe, as it was delivered."""
    assert parse_recipe(content) is not None, "it has no recipe"
    if content.startswith(b"\x89PNG"):
        assert content[37:41] == b"iTXt"
        return content[:33] + content[45 + int.from_bytes(content[33:37]) :]
    if content.startswith(b"\xff\xd8"):
        at = 4 + int.from_bytes(content[4:6])  # behind the segment of JFIF
        assert content[at : at + 2] == b"\xff\xe1"
        end = at + 2 + int.from_bytes(content[at + 2 : at + 4])
        return content[:at] + content[end:]
    return content[: content.index(XMP_BOX) - 4]
