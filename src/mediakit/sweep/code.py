"""Write the code that recreates a plan."""

from __future__ import annotations

from collections.abc import Mapping
from keyword import iskeyword

from mediakit.client.media_inputs import job_of

WIDTH = 88


def sweep_code(function: str, given: Mapping[str, object]) -> str:
    """Write the call that creates a plan.

    Args:
        function: The kind or path of the function.
        given: The arguments of the call by name; those that are None are omitted.
    """
    given = {name: value for name, value in given.items() if value is not None}
    plain = {n: v for n, v in given.items() if n.isidentifier() and not iskeyword(n)}
    others = {n: v for n, v in given.items() if n not in plain}
    arguments = [repr(function), *(f"{n}={_code(v)}" for n, v in plain.items())]
    if others:
        # A service may call a field as it likes; only a text holds any name.
        arguments.append(f"**{_code(others)}")
    line = f"plan = client.sweep({', '.join(arguments)})"
    if len(line) <= WIDTH:
        return line
    return "plan = client.sweep(\n    " + ",\n    ".join(arguments) + ",\n)"


def _code(value: object) -> str:
    job = job_of(value)
    if job is not None:
        return f"client.job({job.id!r})"
    if isinstance(value, list | tuple):
        inner = ", ".join(map(_code, value))
        return f"[{inner}]" if isinstance(value, list) else f"({inner},)"
    if isinstance(value, Mapping):
        inner = ", ".join(f"{n!r}: {_code(each)}" for n, each in value.items())
        return f"{{{inner}}}"
    if isinstance(value, str | int | float | bool | None):
        return repr(value)
    if hasattr(value, "to_dict"):
        return repr(value.to_dict("records"))
    return repr(value.tolist()) if hasattr(value, "tolist") else repr(str(value))
