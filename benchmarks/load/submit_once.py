"""Submit one job with one SDK, its defaults and a timeout of two seconds.

    python submit_once.py SDK BASE_URL FOLDER

prints {"outcome", "seconds"}; an error is an outcome, named by its class. It imports
only the requested SDK: each is installed in its own environment.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

KEY = "a-key-for-the-benchmark"
PROMPT = "a kite over dunes"
TIMEOUT_S = 2.0


def mediakit(base_url: str, folder: Path) -> Callable[[], object]:
    from mediakit import Catalog
    from mediakit.client import Service
    from mediakit.client.components import Components
    from mediakit.client.service import Backend
    from mediakit.history import History

    async def submit() -> object:
        history = History(folder / "history.sqlite3")
        service = Service(base_url, KEY, identity="the-service")
        backend = Backend(service, Catalog.default())
        components = Components(backend, history, timeout_s=TIMEOUT_S)
        try:
            request = await components.prepared("text-to-image", prompt=PROMPT)
            return await components.submit_prepared(request, 1)
        finally:
            await components.aclose()

    def run() -> object:
        with asyncio.Runner() as runner:
            return runner.run(submit())

    return run


def fal(base_url: str, folder: Path) -> Callable[[], object]:
    import fal_client.client

    # Its host can be set, but it always uses https: the URL is a constant.
    fal_client.client.QUEUE_URL_FORMAT = f"{base_url}/"
    client = fal_client.SyncClient(key=KEY, default_timeout=TIMEOUT_S)
    arguments = {"prompt": PROMPT}
    return lambda: client.submit("media/text-to-image", arguments)


def openai(base_url: str, folder: Path) -> Callable[[], object]:
    from openai import OpenAI

    client = OpenAI(api_key=KEY, base_url=base_url, timeout=TIMEOUT_S)
    return lambda: client.videos.create(prompt=PROMPT)


def replicate(base_url: str, folder: Path) -> Callable[[], object]:
    from replicate.client import Client

    client = Client(api_token=KEY, base_url=base_url, timeout=TIMEOUT_S)
    given = {"prompt": PROMPT}
    return lambda: client.predictions.create(version="0" * 64, input=given)


def runwayml(base_url: str, folder: Path) -> Callable[[], object]:
    from runwayml import RunwayML

    client = RunwayML(api_key=KEY, base_url=base_url, timeout=TIMEOUT_S)
    return lambda: client.text_to_video.create(
        model="veo3.1", prompt_text=PROMPT, ratio="1280:720", duration=4
    )


SDKS = {each.__name__: each for each in (mediakit, fal, openai, replicate, runwayml)}


def main() -> None:
    name, base_url, folder = sys.argv[1:]
    warnings.simplefilter("ignore")
    submit = SDKS[name](base_url, Path(folder))
    began_s = time.perf_counter()
    try:
        submit()
        outcome = "ok"
    except Exception as error:  # noqa: BLE001 - whatever an SDK raises is its outcome
        outcome = type(error).__name__
    took_s = time.perf_counter() - began_s
    print(json.dumps({"outcome": outcome, "seconds": took_s}), flush=True)


if __name__ == "__main__":
    main()
