"""`python -m mediakit.sandbox`: serve until stopped."""

import argparse
import json
import signal
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from queue import SimpleQueue

from mediakit.errors import MediakitError
from mediakit.money import parse_usd
from mediakit.sandbox.server.running import RunningSandbox, start
from mediakit.sandbox.settings import Sandbox, is_loopback

WARNING = (
    "Warning: Other machines can reach {host}, over plain HTTP. Everyone can read "
    "/openapi.json. With the API key they can submit jobs and control the sandbox; "
    "with a file's URL they can read the file.\n"
)


def main(arguments: list[str] | None = None) -> int:
    """Serve until SIGINT or SIGTERM; return the exit status."""
    options = _parser().parse_args(arguments)
    stops: SimpleQueue[int] = SimpleQueue()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, frame: stops.put(number))
    with ExitStack() as stack:
        folder = options.data_dir or Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="mediakit-sandbox-"))
        )
        try:
            settings = _settings(options, folder)
            running = start(settings)
        except MediakitError as problem:
            sys.stderr.write(f"{problem}\n")
            return 2
        stack.callback(running.stop)
        if not is_loopback(settings.host):
            sys.stderr.write(WARNING.format(host=settings.host))
        fields = {
            "base_url": running.base_url,
            "api_key": running.api_key,
            "functions": dict(running.functions),
        }
        line = f"{json.dumps(fields)}\n"
        sys.stdout.write(line if options.json else _text(running, options, folder))
        sys.stdout.flush()
        stops.get()
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m mediakit.sandbox",
        description="Serve the whole media interface on this machine, free of charge.",
    )
    add = parser.add_argument
    add("--host", default="127.0.0.1", help="address to listen on (default: loopback)")
    add("--port", type=int, default=0, help="port; 0 takes a free one (default)")
    add("--api-key", help="the API key to accept (default: a generated one)")
    add("--data-dir", type=Path, help="data directory (default: a temporary one)")
    add("--balance-usd", default="100", help="opening balance of a new data directory")
    add("--concurrency", type=int, default=2, help="jobs that run at once (default: 2)")
    add("--queue-size", type=int, default=50, help="jobs that may wait (default: 50)")
    add(
        "--allow-loopback-callbacks",
        action="store_true",
        help="let callbacks and input URLs reach this machine, over http, on any port",
    )
    add("--keep-gb", type=float, default=10, help="gigabytes to keep (default: 10)")
    add("--speed", type=float, default=1.0, help="speed of its clock (default: 1)")
    add("--json", action="store_true", help="print one line of JSON when ready")
    return parser


def _settings(options: argparse.Namespace, folder: Path) -> Sandbox:
    others = ("json", "balance_usd")
    settings = {name: v for name, v in vars(options).items() if name not in others}
    balance = parse_usd(options.balance_usd)
    return Sandbox(**settings | {"data_dir": folder, "balance_micro_usd": balance})


def _text(running: RunningSandbox, options: argparse.Namespace, folder: Path) -> str:
    key = f" (for this run only): {running.api_key}"
    if options.data_dir or options.api_key:
        key = f": see {folder / 'account.json'}"
    serves = "serves" if running.is_served_here else "is served by another process"
    return (
        f"The sandbox {serves} at {running.base_url} (press Ctrl-C to stop it).\n"
        f"API key{key}.\n"
        f"Functions: {', '.join(sorted(running.functions))}.\n"
        f"Data: {options.data_dir or 'a temporary folder, removed on exit'}.\n"
    )


if __name__ == "__main__":
    sys.exit(main())
