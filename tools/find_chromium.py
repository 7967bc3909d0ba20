"""Print the path of a Chromium for the browser tests, installing one if allowed.

It uses only the standard library, because it also runs before the environment exists.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys

# Chromium without windows takes half of the processor time that the whole one takes.
SHELL = "chromium-headless-shell"
NAMES = (
    SHELL,
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
)
FONTS = "fonts-dejavu-core"
VARIABLE = "MEDIAKIT_CHROMIUM"
INSTALL_TIMEOUT_S = 900


def find() -> str | None:
    """Return the path of a browser: the configured one, else a known one.

    Raises:
        SystemExit: The configured file cannot be run.
    """
    named = os.environ.get(VARIABLE)
    if named:
        path = shutil.which(named)
        if path is None:
            message = f"{VARIABLE} is {named!r}, which is not an executable file here."
            raise SystemExit(message)
        return path
    return next(filter(None, map(shutil.which, NAMES)), None)


def privilege() -> list[str] | None:
    """Return the prefix for apt-get: empty for root, or sudo; None if not allowed."""
    if shutil.which("apt-get") is None:
        return None
    if os.geteuid() == 0:
        return []
    sudo = shutil.which("sudo")
    if sudo is None:
        return None
    silent = subprocess.run([sudo, "-n", "true"], capture_output=True, check=False)
    return [sudo, "-n"] if silent.returncode == 0 else None


def install(before: list[str]) -> None:
    """Install Debian's Chromium; the output of apt-get goes to standard error."""
    apt(before, "update")
    for package in (SHELL, "chromium"):
        if find() is None:
            apt(before, "install", "-y", "--no-install-recommends", package, FONTS)


def apt(before: list[str], *arguments: str) -> None:
    """Run apt-get, which asks nothing."""
    subprocess.run(
        [*before, "apt-get", *arguments],
        check=False,
        env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
        stdin=subprocess.DEVNULL,
        stdout=sys.stderr,
        timeout=INSTALL_TIMEOUT_S,
    )


def main() -> int:
    """Print the path and return 0; if there is none, explain and return 1."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--install", action="store_true", help="install it if missing")
    wanted = parser.parse_args()
    path = find()
    before = privilege() if wanted.install and path is None else None
    if before is not None:
        install(before)
        path = find()
    if path is None:
        sys.stderr.write(
            f"Chromium was not found: looked for {', '.join(NAMES)}.\n"
            f"Install one, or set {VARIABLE} to its path.\n"
        )
        return 1
    sys.stdout.write(path + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
