"""No output contains a secret: reprs, logs, errors, notebooks and files."""

from __future__ import annotations

import json
import logging
from base64 import b64encode
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

import mediakit as mk
from mediakit import errors
from mediakit.api_models import UploadGrant
from mediakit.client import Service
from mediakit.client.http import ServiceClient
from mediakit.client.io_thread import io_thread
from mediakit.clock import SystemClock
from mediakit.history import History
from mediakit.sandbox.server.running import (
    RunningSandbox,
    Sandbox,
    start,
    start_embedded,
)
from tests.client.runtime.leaks import (
    Secrets,
    all_records,
    files_below,
    shown_objects,
    told,
)
from tests.support.advancing_clock import AdvancingClock
from tests.support.kernels import run_notebook
from tests.support.samples.media_samples import make_mp4, make_png
from tests.support.servers.file_server import FileServer
from tests.support.servers.serving import free_port

WRONG_KEY = "mk_wrong+key/0123456789=="
PASSWORD = "p@ss/word-0123456789"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningSandbox]:
    """Serve a sandbox for this module, with a key that has to be quoted in URLs."""
    data = tmp_path_factory.mktemp("secrets")
    key = "mk_secret+key/with=signs_0123456789"
    served = start(
        Sandbox(data, api_key=key, speed=20, sketch=True, allow_loopback_callbacks=True)
    )
    yield served
    served.stop()


def secrets_of(running: RunningSandbox) -> Secrets:
    """Return all secrets, including the signing secret of webhooks."""

    async def read_secret() -> str:
        service = Service(running.base_url, running.api_key)
        transport = ServiceClient(service, clock=SystemClock())
        answer = await transport.read("/v1/webhooks/secret")
        await transport.aclose()
        secret: str = answer.json()["secret"]
        return secret

    webhook_secret = io_thread().call(read_secret)
    return Secrets(
        key=running.api_key,
        wrong_key=WRONG_KEY,
        webhook_secret=webhook_secret.removeprefix("whsec_"),
        password=PASSWORD,
    )


# -- the scan --------------------------------------------------------------------------


def test_no_output_of_a_client_contains_a_secret(
    running: RunningSandbox, tmp_path: Path
) -> None:
    secrets = secrets_of(running)
    home, folder = tmp_path / "home", tmp_path / "results"
    folder.mkdir()
    texts: dict[str, str] = {}
    with all_records() as records:
        client = mk.Client(running.base_url, running.api_key, home=home)
        client.io.loop.set_debug(True)
        texts |= whole_life(client, running, folder)
        texts |= failures(client, running, tmp_path)
        roots = {"client": client, "mediakit": vars(mk), "errors": vars(errors)}
        texts |= shown_objects(roots)
        client.io.loop.set_debug(False)
        client.close()
    files = files_below(home, folder)

    assert len(records.texts) > 100
    assert any("sqlalchemy" in where for where in records.texts)
    assert any("asyncio" in where for where in records.texts)
    assert len(texts) > 100
    assert any(name.endswith("history.sqlite3") for name in files)
    assert any(name.endswith(".json") for name in files)
    assert secrets.found(records.texts | texts | files) == {}


def whole_life(
    client: mk.Client, running: RunningSandbox, folder: Path
) -> dict[str, str]:
    """Run successful calls, and return all their visible texts."""
    picture = make_png(folder / "cat.png", (32, 32))
    hook = f"http://127.0.0.1:{free_port()}/hook"
    client.estimate("text-to-video", prompt="a kite", duration=3)
    painted = client.run("text-to-image", prompt="a kite", webhook_url=hook)
    upscaled = client.run("image-upscale", image_url=picture)
    jobs = [painted.settle(), upscaled.settle()]
    again = client.submit("text-to-image", prompt="a kite", webhook_url=hook)
    upscaled.download(folder)
    upscaled.fetch_output(10_000_000)
    painted.refresh().erase()
    client.io.call(client.components.transport.read, "/v1/webhooks/secret")
    rotation = b'{"expire_in_seconds": 60}'
    path = "/v1/webhooks/secret/rotate"
    client.io.call(client.components.transport.exchange, "POST", path, content=rotation)
    with FileServer({"a.mp4": make_mp4(folder / "a.mp4").read_bytes()}) as server:
        signed = f"{server.url('a.mp4')}?X-Amz-Signature=0123456789abcdef"
        client.estimate("video-upscale", video_url=signed, upscale_factor="x2")
    frames = [
        client.history.frame(),
        client.history.search("kite"),
        client.history.rebuild(folders=folder),
        client.spend.daily(),
        client.spend.monthly(),
        client.spend.monthly_csv(),
    ]
    seen = [*jobs, again, *frames, client.history, client.balance(), running]
    seen += [client.form("text-to-video"), *client.history.page()]
    return {f"{type(each).__name__} {n}": f"{each!r}" for n, each in enumerate(seen)}


def failures(
    client: mk.Client, running: RunningSandbox, tmp_path: Path
) -> dict[str, str]:
    """Provoke every error that a client can raise, and return their texts."""
    texts: dict[str, str] = {}
    kinds: set[str] = set()
    for number, (fault, call) in enumerate(calls(client, running, tmp_path)):
        if fault:
            running.fault(**fault)
        try:
            call()
        except (errors.MediakitError, TypeError, RuntimeError) as error:
            kinds.add(type(error).__name__)
            texts |= {f"{number}: {k}": text for k, text in told(error).items()}
            render = getattr(error, "_render_traceback_", list)
            texts[f"{number}: in a notebook"] = "\n".join(render())
        else:
            raise AssertionError(f"call {number} raised nothing")
        finally:
            running.clear_faults()
    raised = {
        *("InputError", "AuthError", "NotFoundError", "ConflictError", "GoneError"),
        *("RateLimitError", "BalanceError", "BudgetError", "ServiceError"),
        *("JobFailedError", "WaitTimeoutError", "TypeError", "RuntimeError"),
    }
    assert raised <= kinds
    return texts


Call = tuple[dict[str, Any], Callable[[], object]]


def calls(client: mk.Client, running: RunningSandbox, tmp_path: Path) -> Iterator[Call]:
    """Yield failing calls, each with the fault that it meets, if any."""
    submit, key, url = client.submit, running.api_key, running.base_url
    kite: dict[str, Any] = {"prompt": "a kite", "duration": 3}
    nowhere = f"http://127.0.0.1:{free_port()}"
    home = tmp_path / "others"

    def other(base_url: str, api_key: str, **more: Any) -> mk.Client:
        return mk.Client(base_url, api_key, home=home, clock=AdvancingClock(), **more)

    def use(another: mk.Client, prompt: str = "other") -> None:
        with another:
            another.submit("text-to-image", prompt=prompt)

    def says(words: str, status: int, **where: str) -> dict[str, Any]:
        message = {"message": f"{words} {key}", "status": status}
        return {"kind": "status", "count": 1, "where": where, **message}

    def upload(name: str, **fault: Any) -> Call:
        put = {"where": {"method": "PUT"}, **fault}
        picture = make_png(tmp_path / f"{name}.png", (40, 30 + len(name)))
        return put, lambda: submit("image-upscale", image_url=picture)

    def closed() -> None:
        another = other(url, key)
        another.close()
        another.balance()

    posts, erased = {"method": "POST"}, client.run("text-to-image", prompt="erased")
    erased.settle().erase()
    later = {"kind": "status", "status": 429, "retry_after": 3_600, "where": posts}
    failing: dict[str, Any] = {"prompt": "sandbox:fail=timed_out", "duration": 3}
    queued: dict[str, Any] = {"kind": "stuck_queue"}

    yield {}, lambda: submit("text-to-video", **kite | {"duration": 99})
    yield {}, lambda: mk.connect(url, api_key=WRONG_KEY, home=home)
    yield {}, lambda: mk.connect(url, home=home)
    yield says("The key is wrong:", 401, **posts), lambda: use(other(url, key), "401")
    yield says("Not for the key", 403, **posts), lambda: use(other(url, key), "403")
    yield says("Two bodies for", 409, **posts), lambda: use(other(url, key), "409")
    yield says("prompt: not from", 422, **posts), lambda: use(other(url, key), "422")
    yield says("Broken by", 500, **posts), lambda: use(other(url, key), "500")
    yield {}, lambda: client.job("media_00000000-0000-0000-0000-000000000000")
    yield queued, lambda: submit("text-to-image", prompt="later").download()
    yield {}, erased.download
    yield later, lambda: use(other(url, key), "429")
    yield {}, lambda: use(other(url, key), "sandbox:fail=rate_limited")
    yield {}, lambda: use(other(url, key), "sandbox:fail=insufficient_balance")
    yield {}, lambda: use(other(url, key, budget="$0.01"), "an unknown price")
    yield {}, lambda: use(other(nowhere, key))
    yield {"kind": "drop_after", "where": posts}, lambda: use(other(url, key), "cut")
    yield {}, lambda: client.run("text-to-video", **failing)
    yield queued, lambda: submit("text-to-image", prompt="waited for").wait(0.01)
    yield upload("refused", kind="status", status=403, message="no")
    yield upload("broken", kind="status", status=500, message="broken")
    yield {}, closed
    yield {}, lambda: client.__reduce__()
    yield {}, lambda: client.io.call(_blocking_on_the_loop, client)
    yield {}, lambda: History(f"postgresql://me:{PASSWORD}@127.0.0.1:{free_port()}/h")
    at = f"postgresql://me:{PASSWORD}@127.0.0.1:{free_port()}/h"
    yield {}, lambda: mk.connect(url, key, home=home, history=at)
    yield {}, lambda: History(f"mysql://me:{PASSWORD}@127.0.0.1/h")
    yield {}, lambda: History(f"postgresql://me:{PASSWORD}@127.0.0.1:x/h")


async def _blocking_on_the_loop(client: mk.Client) -> None:
    client.balance()


CELLS = [
    """
%xmode Verbose
import logging
logging.basicConfig(level=logging.DEBUG, force=True)
import mediakit as mk
client = mk.connect()
""",
    "print(client, client.core, client.backend, client.service, client.history)",
    "client.form('image-upscale', image_url='cat.png')",
    "job = client.run('image-upscale', image_url='cat.png').settle()",
    "job",
    "client.submit('image-upscale', image_url='cat.png').show()",
    "client.history.frame()",
    "client.spend.daily()",
    "job.download()",
    "client.submit('text-to-video', prompt='a', duration=99)",
    "client.job('media_00000000-0000-0000-0000-000000000000')",
    "def divided(client, job, number):\n    return number / 0\ndivided(client, job, 1)",
    "import pickle\npickle.dumps(client)",
    "client.close()\nclient.balance()",
]


def test_a_saved_notebook_holds_no_secret(
    running: RunningSandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_png(tmp_path / "cat.png", (32, 32))
    monkeypatch.setenv("MEDIAKIT_BASE_URL", running.base_url)
    monkeypatch.setenv("MEDIAKIT_API_KEY", running.api_key)
    monkeypatch.setenv("MEDIAKIT_HOME", str(tmp_path / "home"))
    notebook = run_notebook(CELLS, tmp_path, allow_errors=True)
    saved = json.dumps(notebook, ensure_ascii=False)
    texts = {"the notebook": saved, "as it is written": saved.replace("\\", "")}

    for words in ("DEBUG:mediakit", "ZeroDivisionError", "widget-view", "closed"):
        assert words in saved
    assert notebook.metadata["widgets"]
    files = files_below(tmp_path)
    assert secrets_of(running).found(texts | files) == {}


def test_the_embedded_sandbox_keeps_its_key_in_a_separate_file(
    tmp_path: Path,
) -> None:
    with mk.Client(home=tmp_path) as client:
        client.run("text-to-image", prompt="embedded")
        secrets = Secrets(key=client.service.api_key)
    start_embedded(tmp_path / "sandbox").stop()
    found = secrets.found(files_below(tmp_path))

    assert found
    assert secrets.found(files_below(tmp_path, apart_from=tmp_path / "sandbox")) == {}
    for path in found:
        assert Path(path).stat().st_mode & 0o077 == 0


# -- the scanner -----------------------------------------------------------------------


def test_a_planted_secret_is_found_in_every_kind_of_output(
    tmp_path: Path,
) -> None:
    key = "mk_planted+key/0123456789"
    secrets = Secrets(key=key)
    for leak in (key, quote(key, safe=""), b64encode(f"{key}:x".encode()).decode()):
        assert secrets.found_in(f"Authorization: {leak}")
    assert secrets.found_in("https://a.test/b?a=1&X-Amz-Signature=0123456789abcdef")
    assert not secrets.found_in("the history of a.test, signed by nobody")
    with all_records() as records:
        logging.getLogger("somebody").debug("asked with %s", {"X-API-Key": key})
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "cache.bin").write_bytes(b"\x00" + key.encode() + b"\xff")
    error = errors.MediakitError("sent nothing")
    error.__context__ = ValueError(f"header {key}")
    error.__suppress_context__ = True
    leaky = mk.InputError("a", got=key, accepted="b")

    assert len(secrets.found(records.texts)) == 1
    assert len(secrets.found(files_below(tmp_path))) == 1
    assert secrets.found(told(error))
    assert secrets.found(told(leaky))
    with pytest.raises(errors.InputError) as caught:
        mk.Catalog.default().function(key)
    found = secrets.found(told(caught.value))
    assert any(where.startswith("local name in Catalog.function") for where in found)
    assert secrets.found(
        shown_objects(
            {"held": [{"deep": UploadGrant(upload_url="x", headers={}, url=key)}]}
        )
    )
    assert not secrets.found(
        shown_objects({"held": [{"deep": Service("https://a.test", key)}]})
    )
