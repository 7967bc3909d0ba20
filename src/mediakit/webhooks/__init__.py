"""Webhooks: verification, events and an ASGI receiver (spec 6).

A web server needs only this package, not a client.
"""

from mediakit.webhooks.events import COMPLETED as COMPLETED
from mediakit.webhooks.events import FAILED as FAILED
from mediakit.webhooks.events import TEST as TEST
from mediakit.webhooks.events import Event as Event
from mediakit.webhooks.inbox import Inbox as Inbox
from mediakit.webhooks.receiving import Receiver as Receiver
from mediakit.webhooks.receiving import receiver as receiver
from mediakit.webhooks.verifying import verify as verify

verify_webhook = verify  # exported as `mk.verify_webhook`
