"""The names of uploaded files, found by the URLs that the service gave them.

A request names its media by URLs that say nothing to people. The history knows which
bytes are at them, and the folder of uploads which file those are.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anyio import to_thread

from mediakit.client.sidecar import urls_in
from mediakit.history import tuning
from mediakit.widgets.uploads.upload_folder import UploadFolder

if TYPE_CHECKING:
    from mediakit.blocking_client import Client

_paths: dict[str, Path] = {}


async def learn_names(client: Client, body: Mapping[str, object]) -> bool:
    """Find out which uploaded files a request names; for the I/O thread.

    Args:
        client: The client, whose history and folder know it.
        body: The request as it was sent.

    Returns:
        Whether it names any.
    """
    urls = set(urls_in(dict(body)))
    unknown, home = urls - _paths.keys(), client.components.home
    if unknown and home is not None:
        account_history = client.components.account_history
        sent = await account_history.ask(
            tuning.uploads_at, unknown, service=account_history.service
        )
        folder = UploadFolder(home)
        found = await to_thread.run_sync(
            lambda: {each.url: folder.find(each.sha256) for each in sent}
        )
        _paths.update({url: path for url, path in found.items() if path is not None})
    return not urls.isdisjoint(_paths)


def names_in(value: object) -> list[str]:
    """Return the own names of the uploaded files among a URL or a list of them.

    Args:
        value: What a request holds for a field.

    Returns:
        One for each URL; nothing where one of them is of another kind.
    """
    urls = [value] if isinstance(value, str) else value
    if not isinstance(urls, list | tuple):
        return []
    paths = [_paths.get(url) for url in urls if isinstance(url, str)]
    names = [path.name for path in paths if path is not None]
    return names if len(names) == len(urls) else []


def with_kept_files(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return a request with the files that were uploaded for it, where they are kept.

    The same file is sent as the same URL again, so that the request stays the same.

    Args:
        body: The request as it was sent.
    """
    return {name: _with_files(value) for name, value in body.items()}


def _with_files(value: object) -> object:
    if isinstance(value, str):
        path = _paths.get(value)
        return str(path) if path is not None and path.is_file() else value
    if isinstance(value, list | tuple):
        return [_with_files(each) for each in value]
    if isinstance(value, Mapping):
        return with_kept_files(value)
    return value
