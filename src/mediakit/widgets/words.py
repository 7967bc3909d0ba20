"""Fields, problems and gaps in words; pure."""

import re
from collections.abc import Iterable, Iterator

from mediakit.catalog import Function
from mediakit.errors import shown
from mediakit.rules import Problem, all_of, any_of
from mediakit.schema import FieldSpec

LONG_TEXT = 100
SHORT_TEXT = 24
SUMMARY_FACTS = 4
FEW_FIELDS = 3
OPTION_WORDS = {
    "choice": "preset",
    "integer": "number",
    "boolean": "yes or no",
    "variants": "object",
}
STEPS = re.compile(r"([^.\[\]]+)|\[(\d+)\]")
PLACE = re.compile(r"\b[a-z]\w*\[\d+\](?:\.[a-z]\w*|\[\d+\])*")
"""A place in a sentence of a rule: "tracks[0].keyframes[2]"."""
MISSING = "it is required"
OTHERS = re.compile(rf"(?<=^{MISSING}, or else ).*")
"""The fields of which one will do as well, by their names."""
MEDIA_WORDS = {
    "image": ("a picture", "pictures"),
    "video": ("a clip", "clips"),
    "audio": ("a sound", "sounds"),
}


def title_of(function: Function) -> str:
    """Write a function's name for people: "Text to video"."""
    return title_at(function.kind, function.path)


def title_at(kind: str, path: str) -> str:
    """Write the same from the function's kind and its path."""
    last = path.rsplit("/", 1)[-1]
    parts = dict.fromkeys((kind, last))
    words = " · ".join(part.replace("-", " ") for part in parts)
    return words[:1].upper() + words[1:]


def label_of(spec: FieldSpec) -> str:
    """Write a field's name for people: "transition_duration_s" without its unit."""
    name = spec.name.removesuffix(f"_{spec.unit}") if spec.unit else spec.name
    if spec.item is not None and spec.item.unit:
        name = name.removesuffix(f"_{spec.item.unit}")
    return _plain(name)


def _plain(name: str) -> str:
    for ending, short in (("_urls", "s"), ("_url", "")):
        if name.endswith(ending):
            name = name.removesuffix(ending) + short
    return name.replace("_", " ")


def one_of(several: str) -> str:
    """Write the name of one of several: "track" for "tracks"."""
    if several.endswith("ies"):
        return f"{several.removesuffix('ies')}y"
    if several.endswith("s") and not several.endswith("ss"):
        return several.removesuffix("s")
    return f"{several} item"


def place_text(spec: FieldSpec, label: str) -> str:
    """Write a place for people: "track 1, keyframe 3, url".

    Args:
        spec: The top-level field.
        label: The place, such as "tracks[0].keyframes[2].url".
    """
    return _spoken(label, label_of(spec))


def _spoken(label: str, root: str) -> str:
    words: list[str] = []
    for name, index in STEPS.findall(label):
        if index:
            words[-1] = f"{one_of(words[-1])} {int(index) + 1}"
        else:
            words.append(_plain(name) if words else root)
    return ", ".join(words)


def option_text(spec: FieldSpec) -> str:
    """Write what one of several shapes is, in short: "preset", "width and height"."""
    if spec.kind == "object" and 0 < len(spec.fields) <= FEW_FIELDS:
        return all_of(map(label_of, spec.fields.values()))
    medium = spec.media_kind
    return medium or OPTION_WORDS.get(spec.kind, spec.kind)


def rule_text(text: str) -> str:
    """Write a rule's words with the places in them as people call them."""
    text = PLACE.sub(lambda at: _spoken(at[0], _plain(at[0].split("[")[0])), text)
    return OTHERS.sub(lambda at: " or ".join(map(_plain, at[0].split(" or "))), text)


def is_within(problem: Problem, place: str) -> bool:
    """Tell whether a problem concerns a value, or something inside it."""
    return problem.field == place or problem.field.startswith(
        (f"{place}.", f"{place}[")
    )


def problems_text(problems: Iterable[Problem], place: str) -> str:
    """Write problems as they stand beside a value.

    Args:
        problems: Those of the value, and of what is inside it.
        place: Where the value stands; what is inside it is named.
    """
    return "; ".join(_inner_text(problem, place) for problem in problems)


def folded_text(problems: Iterable[Problem], place: str) -> str:
    """Write problems of a value whose fields are out of sight.

    Args:
        problems: Those of the value, and of what is inside it.
        place: Where the value stands.
    """
    problems = list(problems)
    missing = [_inner_place(p, place) for p in problems if is_missing(p)]
    rest = problems_text((p for p in problems if not is_missing(p)), place)
    gaps = f"not filled in: {'; '.join(missing)}" if missing else ""
    return "; ".join(filter(None, (rest, gaps)))


def _inner_text(problem: Problem, place: str) -> str:
    words = (_inner_place(problem, place), problem_text(problem))
    return ": ".join(filter(None, words))


def _inner_place(problem: Problem, place: str) -> str:
    inner = STEPS.findall(problem.field.removeprefix(place))
    words = (
        f"no. {int(index) + 1}" if index else _plain(name) for name, index in inner
    )
    return ", ".join(words)


def summary_text(value: object) -> str:
    """Write what a folded object holds: "video · intro · 2 keyframes"."""
    facts = list(_facts(value)) if isinstance(value, dict) else [_fact("", value)]
    return " · ".join(fact for fact in facts[:SUMMARY_FACTS] if fact)


def _facts(value: dict[str, object]) -> Iterator[str]:
    for name, item in value.items():
        if isinstance(item, list):
            each = name if len(item) != 1 else one_of(name)
            yield f"{len(item)} {_plain(each)}"
        else:
            yield _fact(_plain(name), item)


def _fact(name: str, item: object) -> str:
    if isinstance(item, str):
        return short_name(item)
    if item is None or isinstance(item, dict | list):
        return name
    return f"{name} {str(item).lower()}".strip()


def short_name(text: str) -> str:
    """Write a text in short: of a URL or a path, the file's name."""
    if "://" in text or text.startswith("/"):
        text = text.split("?", 1)[0].rsplit("/", 1)[-1]
    return text if len(text) <= SHORT_TEXT else f"{text[: SHORT_TEXT - 1]}…"


def problem_text(problem: Problem) -> str:
    """Write a problem as it stands beside its field, without the field's name."""
    got, accepted = problem.got, rule_text(problem.accepted)
    if got is None:
        return accepted
    if isinstance(got, bool):
        words = f"got {any_of([got])}"
    elif isinstance(got, list | tuple):
        words = f"{len(got)} given"
    elif isinstance(got, str) and len(got) > LONG_TEXT:
        words = f"{len(got):,} characters given"
    else:
        words = f"got {shown(got)}"
    # For people, null is nothing.
    accepted = accepted.replace(", or null", ", or nothing")
    return f"{words}; accepted: {accepted}"


def missing_text(spec: FieldSpec, problem: Problem) -> str:
    """Write a missing field as a sentence: "prompt is required."."""
    whole = problem.field == spec.name
    verb = "are" if whole and spec.kind == "list" else "is"
    accepted = rule_text(problem.accepted)
    when = accepted.removeprefix(MISSING).split(":", 1)[0]
    return f"{place_text(spec, problem.field)} {verb} required{when}."


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
