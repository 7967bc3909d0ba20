"""Fields, problems and gaps in words; pure."""

from mediakit.catalog import Function
from mediakit.errors import shown
from mediakit.rules import Problem, any_of
from mediakit.schema import FieldSpec

LONG_TEXT = 100
MISSING = "it is required"
MEDIA_WORDS = {
    "image": ("a picture", "pictures"),
    "video": ("a clip", "clips"),
    "audio": ("a sound", "sounds"),
}


def title_of(function: Function) -> str:
    """Write a function's name for people: "Text to video"."""
    last = function.path.rsplit("/", 1)[-1]
    parts = dict.fromkeys((function.kind, last))
    words = " · ".join(part.replace("-", " ") for part in parts)
    return words[:1].upper() + words[1:]


def label_of(spec: FieldSpec) -> str:
    """Write a field's name for people: "transition_duration_s" without its unit."""
    name = spec.name.removesuffix(f"_{spec.unit}") if spec.unit else spec.name
    if spec.item is not None and spec.item.unit:
        name = name.removesuffix(f"_{spec.item.unit}")
    for ending, short in (("_urls", "s"), ("_url", "")):
        if name.endswith(ending):
            name = name.removesuffix(ending) + short
    return name.replace("_", " ")


def problem_text(problem: Problem) -> str:
    """Write a problem as it stands beside its field, without the field's name."""
    got = problem.got
    if got is None:
        return problem.accepted
    if isinstance(got, bool):
        words = f"got {any_of([got])}"
    elif isinstance(got, list | tuple):
        words = f"{len(got)} given"
    elif isinstance(got, str) and len(got) > LONG_TEXT:
        words = f"{len(got):,} characters given"
    else:
        words = f"got {shown(got)}"
    # For people, null is nothing.
    accepted = problem.accepted.replace(", or null", ", or nothing")
    return f"{words}; accepted: {accepted}"


def missing_text(spec: FieldSpec, problem: Problem) -> str:
    """Write a missing field as a sentence: "prompt is required."."""
    verb = "are" if spec.kind == "list" else "is"
    when = problem.accepted.removeprefix(MISSING).split(":", 1)[0]
    return f"{label_of(spec)} {verb} required{when}."


def is_missing(problem: Problem) -> bool:
    """Tell whether nothing was given where something is required."""
    return problem.got is None and problem.accepted.startswith(MISSING)


def how_to_give(spec: FieldSpec) -> str:
    """Write what people do to give a field a value: "Add pictures"."""
    medium = spec.media_kind or (spec.item.media_kind if spec.item else None)
    if medium is not None:
        one, several = MEDIA_WORDS[medium]
        return f"Add {several if spec.kind == 'list' else one}"
    verb = "Choose" if spec.kind == "choice" else "Fill in"
    return f"{verb} {label_of(spec)}"
