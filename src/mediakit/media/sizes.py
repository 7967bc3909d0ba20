"""Format file sizes."""

BYTES_PER_KB, BYTES_PER_MB = 1_000, 1_000_000


def size_text(size_bytes: int) -> str:
    """Format a file size for people."""
    if size_bytes >= BYTES_PER_MB:
        return f"{size_bytes / BYTES_PER_MB:,.1f} MB"
    if size_bytes >= BYTES_PER_KB:
        return f"{size_bytes / BYTES_PER_KB:.0f} kB"
    return f"{size_bytes} bytes"
