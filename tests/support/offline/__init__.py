"""Processes without a network: connections to other machines are refused and recorded.

A process that starts with these variables imports `sitecustomize` of this folder first.
Sockets of Python are seen, those of C libraries such as libpq are not.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

LOG = "MEDIAKIT_TEST_CONNECTIONS"


@dataclass(frozen=True)
class Offline:
    """The processes of one test, without a network."""

    folder: Path

    @property
    def variables(self) -> dict[str, str]:
        """Return the variables to add to their environment."""
        here = str(Path(__file__).parent)
        paths = [here, *filter(None, [os.environ.get("PYTHONPATH")])]
        return {LOG: str(self._log), "PYTHONPATH": os.pathsep.join(paths)}

    @property
    def tried(self) -> set[tuple[str, str]]:
        """Return the hosts, each with its port, that they tried to reach."""
        lines = self._log.read_text("utf-8").splitlines() if self._log.exists() else []
        pairs = (line.rsplit(" ", 1) for line in lines)
        return {(host, port) for host, port in pairs}

    @property
    def outside(self) -> set[str]:
        """Return the hosts that they tried to reach, and that are not this machine."""
        from tests.support.offline.sitecustomize import is_here

        return {host for host, _ in self.tried if not is_here(host)}

    @property
    def _log(self) -> Path:
        return self.folder / "connections.log"
