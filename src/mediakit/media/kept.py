"""Media that are on no disk yet, kept for as long as the kernel lives."""

from functools import cache
from hashlib import sha256
from pathlib import Path
from tempfile import NamedTemporaryFile, mkdtemp

SAFE = "-_. "
LONGEST_NAME = 80


def kept_file(name: str, content: bytes) -> Path:
    """Write bytes that came from the browser or from code; return where they are.

    The same file, given twice, has the same place.

    Args:
        name: What it is called; only its last part and plain characters count.
        content: Its bytes.
    """
    folder = _folder() / sha256(content).hexdigest()[:12]
    folder.mkdir(exist_ok=True)
    path = folder / plain_name(name)
    if not path.exists():
        # Whole from its first moment: another call may be reading it.
        with NamedTemporaryFile(dir=folder, delete=False) as file:
            file.write(content)
        Path(file.name).replace(path)
    return path


def plain_name(name: str) -> str:
    """Return the last part of a file's name, in characters that no system minds."""
    last = name.replace("\\", "/").rsplit("/", 1)[-1]
    plain = "".join(c if c.isalnum() or c in SAFE else "_" for c in last)
    return plain.strip(" .")[-LONGEST_NAME:] or "file"


def kernel_folder() -> Path:
    """Return the folder of this process for files that nothing else keeps."""
    return _folder()


@cache
def _folder() -> Path:
    return Path(mkdtemp(prefix="mediakit-"))
