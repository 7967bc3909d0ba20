"""The properties and listeners that blocking and asynchronous clients share."""

from __future__ import annotations

from collections.abc import Callable

from mediakit.catalog import Catalog
from mediakit.client import AsyncJob, Service
from mediakit.client.components import Components
from mediakit.client.functions import Functions
from mediakit.client.progress import Transfer
from mediakit.client.service import Backend
from mediakit.forks import cached_property


class ClientFacts:
    """The components of a client, and its listeners."""

    @property
    def components(self) -> Components:
        """Return the client's components."""
        raise NotImplementedError

    @property
    def backend(self) -> Backend:
        """Return the service and its functions."""
        return self.components.backend

    @property
    def service(self) -> Service:
        """Return the service that this client talks to."""
        return self.backend.service

    @property
    def catalog(self) -> Catalog:
        """Return the functions of the service."""
        return self.backend.catalog

    @cached_property
    def functions(self) -> Functions:
        """Return the functions as attributes, with their fields as arguments."""
        return Functions(self, self.catalog)

    def on_settled(self, listener: Callable[[AsyncJob], None]) -> Callable[[], None]:
        """Call a function, on the I/O thread, with each job that settles.

        Args:
            listener: The function; it must not block.

        Returns:
            A function that unsubscribes it.
        """
        return self.components.jobs.settled.subscribe(listener)

    def on_transfer(self, listener: Callable[[Transfer], None]) -> Callable[[], None]:
        """Call a function, on the I/O thread, with each step of each transfer.

        Args:
            listener: The function; it must not block.

        Returns:
            A function that unsubscribes it.
        """
        return self.components.progress.subscribe(listener)
