"""Files for media held in memory, kept until the kernel stops."""

from functools import cache
from hashlib import sha256
from pathlib import Path
from tempfile import NamedTemporaryFile, mkdtemp

SAFE = "-_. "
LONGEST_NAME = 80


def write_kernel_file(name: str, content: bytes) -> Path:
    """Write bytes from the browser or from code to a file, and return its path.

    Equal names and contents always give the same path.

    Args:
        name: The file name; only its last part and safe characters are used.
        content: The bytes.
    """
    folder = _folder() / sha256(content).hexdigest()[:12]
    folder.mkdir(exist_ok=True)
    path = folder / plain_name(name)
    if not path.exists():
        # Written atomically, because another call may be reading it.
        with NamedTemporaryFile(dir=folder, delete=False) as file:
            file.write(content)
        Path(file.name).replace(path)
    return path


def plain_name(name: str) -> str:
    """Return the last part of a file name, with characters that are safe everywhere."""
    last = name.replace("\\", "/").rsplit("/", 1)[-1]
    plain = "".join(c if c.isalnum() or c in SAFE else "_" for c in last)
    return plain.strip(" .")[-LONGEST_NAME:] or "file"


def kernel_folder() -> Path:
    """Return the folder for temporary files of this process."""
    return _folder()


@cache
def _folder() -> Path:
    return Path(mkdtemp(prefix="mediakit-"))
