"""The magics themselves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from IPython.core.magic import Magics, line_cell_magic, line_magic, magics_class

from mediakit.blocking_client import Client
from mediakit.catalog import Catalog
from mediakit.completion import Offer, offer_at, offer_in
from mediakit.entry_points import connect
from mediakit.errors import InputError, MediakitError
from mediakit.job import Job
from mediakit.magics.arguments import fields_of, own_parser, parser_of, read_line
from mediakit.magics.completion import line_offer
from mediakit.money import format_usd
from mediakit.widgets.job.text import estimate_text

if TYPE_CHECKING:
    import pandas as pd

USUAL_CLIENT = "client"
LATEST_JOBS = 10
MOST_JOBS = 500
JOBS_COLUMNS = ["created_at", "kind", "prompt", "state", "status"]


class StoppedError(MediakitError):
    """The waiting was interrupted; the job continues."""


@magics_class
class MediakitMagics(Magics):
    """Generate media with the text of a cell, and see jobs and balance.

    They use the variable `client` where it is one, and else connect once, as
    `mediakit.connect()` does.
    """

    def __init__(self, shell: Any) -> None:
        super().__init__(shell)
        self._names: Mapping[str, object] = shell.user_ns
        self._own: Client | None = None

    @line_cell_magic
    def generate(self, line: str, cell: str | None = None) -> Job | None:
        """Generate media; the text of the cell is the prompt.

            %%generate text-to-video --duration 5 --resolution 1080p
            a paper kite over dunes, late afternoon light

        The options are the function's fields, `--help` lists them. The price is said
        before anything is sent. The same cell finds the job that it submitted before;
        `--take next` submits another take. It waits for the result, which Ctrl-C ends
        while the job continues; with `--no-wait` the cell ends at once and shows the
        job. `--client name` uses the client in that variable. A value in braces,
        such as `{path}`, is one of your variables.
        """
        name, asked, words = read_line(line)
        client = self._client(asked.client)
        function = client.catalog.function(name)
        if asked.help:
            text = parser_of(function, own_parser()).format_help()
            print(text)  # noqa: T201 - it is the answer
            return None
        fields = fields_of(function, words, cell)
        price = estimate_text(client.estimate(function.path, **fields))
        print(f"{name}: {price}")  # noqa: T201 - said before it is sent
        try:
            job = client.submit(function.path, take=asked.take, **fields)
            return job if asked.no_wait else job.wait()
        except KeyboardInterrupt as stopped:
            text = str(stopped)
            raise StoppedError(f"{text[:1].upper()}{text[1:]}") from None

    @line_magic
    def jobs(self, line: str) -> pd.DataFrame:
        """Return the latest jobs as a frame, newest first; `%jobs 30` for more.

        It has what most people look at; `client.history.frame()` has all there is.
        """
        wanted = line.strip() or str(LATEST_JOBS)
        if not wanted.isdecimal() or not 1 <= int(wanted) <= MOST_JOBS:
            accepted = f"how many, from 1 to {MOST_JOBS}"
            raise InputError("%jobs", got=wanted, accepted=accepted)
        found = self._client().history.search("", limit=int(wanted))
        frame = found[JOBS_COLUMNS].assign(created_at=found["created_at"].dt.floor("s"))
        frame["charge_usd"] = found["charge_micro_usd"].astype("Float64") / 1e6
        return frame.assign(job_id=found["job_id"])

    @line_magic
    def balance(self, line: str) -> None:
        """Say what can be spent, and what unsettled jobs hold of it."""
        if line.strip():
            raise InputError("%balance", got=line.strip(), accepted="nothing behind it")
        client = self._client()
        spendable = client.balance().spendable_micro_usd
        held = client.reserved_micro_usd()
        text = (
            f"Balance: {format_usd(max(0, spendable - held))} ({client.service.label})"
        )
        if held:
            text += f". {format_usd(held)} more is held until jobs are settled"
        print(f"{text}.")  # noqa: T201 - it is the answer

    def _client(self, name: str | None = None) -> Client:
        found = self._names.get(name or USUAL_CLIENT)
        if isinstance(found, Client):
            return found
        if name is not None:
            accepted = "a variable that holds a client of mediakit.connect()"
            raise InputError("--client", got=name, accepted=accepted)
        if self._own is None:
            self._own = connect()
        return self._own

    def offer(self, code: str, names: Mapping[str, object]) -> Offer | None:
        """Return what the Tab key offers in the line of `%%generate`."""
        mine = names.get(USUAL_CLIENT)
        client = mine if isinstance(mine, Client) else self._own
        catalog = Catalog.default() if client is None else client.catalog
        return line_offer(code, catalog, names)


def load(shell: Any) -> None:
    """Add the magics, and what the Tab key offers, to a shell of IPython."""
    magics = MediakitMagics(shell)
    shell.register_magics(magics)
    offer_in(shell, offer_at)
    offer_in(shell, magics.offer, name="mediakit-magics")
