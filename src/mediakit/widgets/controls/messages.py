"""Labels, hints and problems of fields as sentences."""

import re
from collections.abc import Iterable, Mapping
from functools import cache

from mediakit.catalog import Catalog
from mediakit.clock import MS_PER_S
from mediakit.rules import Problem, ValueDescription, all_of
from mediakit.schema import FieldSpec

LONG_TEXT = 100
SHORT_TEXT = 24
FEW_FIELDS = 3
OPTION_WORDS = {
    "choice": "preset",
    "integer": "number",
    "boolean": "yes or no",
    "variants": "object",
}
SINGULARS = (
    ("series", 0, " item"),
    ("species", 0, " item"),
    ("ies", 3, "y"),
    ("sses", 2, ""),
    ("tuses", 2, ""),
    ("xes", 2, ""),
    ("shes", 2, ""),
    ("ches", 2, ""),
    ("ss", 0, " item"),
    ("us", 0, " item"),
    ("s", 1, ""),
    ("", 0, " item"),
)
"""By plural ending: how many letters the singular drops, and the letters it adds."""
STEPS = re.compile(r"([^.\[\]]+)|\[(\d+)\]")
PLACE = re.compile(r"\b[a-z]\w*\[\d+\](?:\.[a-z]\w*|\[\d+\])*")
"""A place in a sentence of a rule: "tracks[0].keyframes[2]"."""
RANGE = re.compile(r"(?<=\()(\d[\d,]*) to (\d[\d,]*)(?= characters\))")
MILLISECONDS = re.compile(
    r"(\d[\d,.]*) ms\b|(?<=of at least )(\d[\d,.]*) milliseconds?\b"
)
"""A time on a timeline, whose boxes are in seconds."""
SNAKE = re.compile(r"\b[a-z][a-z0-9]*(?:_[a-z0-9]+)+\b")
"""An API name of several words, in a sentence of a rule."""
OTHERS = re.compile(r"(?<= unless ).*(?= is given)")
"""Alternative fields, by name."""
DESCRIBED = {"modify_region_roi": "Describe the region to replace"}
"""How to enter a value, if not "Enter a ..."."""
SPAN_WORDS = {"keyframes": "clips", "timestamp": "start"}
"""The names that video editors use for items on a timeline, by API name."""
OPTION_TITLES = {("Audio", "native"): "Generated"}
"""Clearer names of choices, by the title of their field."""
ACRONYMS = {
    "cgi": "CGI",
    "fps": "FPS",
    "id": "ID",
    "jpeg": "JPEG",
    "mov": "MOV",
    "png": "PNG",
    "url": "URL",
}


def label_of(spec: FieldSpec) -> str:
    """Return a field's display name without a unit: "Transition duration"."""
    if spec.title:
        return spec.title
    name = spec.name.removesuffix(f"_{spec.unit}") if spec.unit else spec.name
    if spec.item is not None and spec.item.unit:
        name = name.removesuffix(f"_{spec.item.unit}")
    return titled(_plain(name))


def with_unit(label: str, unit: str | None) -> str:
    """Return a label with a unit in brackets, unless the label is the unit itself."""
    is_complete = unit is None or label.lower() == unit.lower()
    return label if is_complete else f"{label} ({unit})"


def titled(words: str) -> str:
    """Return words as a title, with only the first capitalised: "Reference task"."""
    first, *rest = words.split(" ")
    first_word = ACRONYMS.get(first, f"{first[:1].upper()}{first[1:]}")
    return " ".join([first_word, *(ACRONYMS.get(each, each) for each in rest)])


def sentence_case(words: str) -> str:
    """Capitalise the first letter only."""
    return words[:1].upper() + words[1:]


def mid_sentence(label: str) -> str:
    """Return a label for use inside a sentence or a longer name: "track"."""
    first, *rest = label.split(" ")
    is_name = not first[1:].islower() and len(first) > 1
    return label if is_name else " ".join([first[:1].lower() + first[1:], *rest])


def hint_of(spec: FieldSpec) -> str:
    """Return a tooltip: the field's name in code, and its description."""
    return f"{spec.name}: {spec.doc}" if spec.doc else spec.name


def _plain(name: str) -> str:
    for ending, short in (("_urls", "s"), ("_url", "")):
        if name.endswith(ending):
            name = name.removesuffix(ending) + short
    return name.replace("_", " ")


def one_of(several: str) -> str:
    """Return the singular: "track" for "tracks"."""
    lower = several.lower()
    cut, more = next((c, m) for end, c, m in SINGULARS if lower.endswith(end))
    return f"{several[: len(several) - cut]}{more}"


def several_of(one: str) -> str:
    """Return the plural: "Resolutions"."""
    if one.lower().endswith("s"):
        return one
    if one.endswith("y") and one[-2:-1] not in "aeiou":
        return f"{one[:-1]}ies"
    return f"{one}es" if one.endswith(("x", "ch", "sh")) else f"{one}s"


def place_text(spec: FieldSpec, label: str) -> str:
    """Return a place such as "tracks[0].url" in words: "track 1, url"."""
    return _spoken(label, label_of(spec))


def _spoken(label: str, root: str) -> str:
    return _place_words(STEPS.findall(label)[1:], root)


def _place_words(steps: Iterable[tuple[str, str]], *words: str) -> str:
    """Describe the place of a nested value, outermost first."""
    places = list(words)
    for name, index in steps:
        if not index:
            plain = ACRONYMS.get(name, _plain(name))
            places.append(SPAN_WORDS.get(name, plain))
        elif places:
            places[-1] = f"{one_of(places[-1])} {int(index) + 1}"
        else:
            places.append(f"no. {int(index) + 1}")
    return ", ".join(places)


def option_text(spec: FieldSpec) -> str:
    """Return the name of one of several shapes: "preset", "width and height"."""
    if spec.kind == "object" and 0 < len(spec.fields) <= FEW_FIELDS:
        return all_of(mid_sentence(label_of(each)) for each in spec.fields.values())
    medium = spec.media_kind
    return medium or OPTION_WORDS.get(spec.kind, spec.kind)


def option_label(choice: object, unit: str = "", of: str = "") -> str:
    """Return a choice for display: words as titles, "16:9" unchanged."""
    if isinstance(choice, bool):
        return "Yes" if choice else "No"
    if (of, choice) in OPTION_TITLES:
        return OPTION_TITLES[of, str(choice)]
    if not isinstance(choice, str):
        return f"{choice}{unit}"
    is_words = choice.replace(" ", "").isalpha() and choice.islower()
    return titled(choice) if is_words else choice


def rule_text(text: str) -> str:
    """Return a rule's sentence with display names instead of API names."""
    text = PLACE.sub(lambda at: _spoken(at[0], _plain(at[0].split("[")[0])), text)
    text = OTHERS.sub(lambda at: " or ".join(map(_inner, at[0].split(" or "))), text)
    return SNAKE.sub(lambda at: _inner(at[0]), text)


def _inner(name: str) -> str:
    """Return a field's display name inside a sentence: "reference task"."""
    return mid_sentence(_titles().get(name) or ACRONYMS.get(name) or _plain(name))


@cache
def _titles() -> Mapping[str, str]:
    """Return the titles of declared fields by name, since rules have only names."""
    specs = (spec for each in Catalog.default() for spec in each.fields.values())
    return {spec.name: spec.title for spec in specs if spec.title}


def is_within(problem: Problem, place: str) -> bool:
    """Return whether a problem concerns a value, or something inside it."""
    return problem.field == place or problem.field.startswith(
        (f"{place}.", f"{place}[")
    )


def placed_text(problem: Problem, name: str) -> str:
    """Return a problem preceded by the name of its place, if any."""
    text = problem_text(problem)
    if not name:
        return text
    if problem.got is None and not problem.is_missing:
        return f"{name}: {text}"  # of a file, which is named
    verb = "is " if problem.is_missing else ""
    return f"{sentence_case(name)} {verb}{text[:1].lower()}{text[1:]}"


def inner_place(problem: Problem, place: str) -> str:
    """Return the part of a problem's place inside the value at a place."""
    return _place_words(STEPS.findall(problem.field.removeprefix(place)))


def short_name(text: str) -> str:
    """Return a short text; the file's name for a URL or a path."""
    if "://" in text or text.startswith("/"):
        text = text.split("?", 1)[0].rsplit("/", 1)[-1]
    return text if len(text) <= SHORT_TEXT else f"{text[: SHORT_TEXT - 1]}…"


def problem_text(problem: Problem) -> str:
    """Return a problem for display beside its field, without the field's name."""
    got = problem.got
    words = rule_text(problem.predicate)
    if got is None and not problem.is_missing:
        return rule_text(problem.accepted)
    words = RANGE.sub(
        "\\1\u2013\\2", words.removeprefix("is ").replace("(text of ", "(")
    )
    words = sentence_case(words)
    words = words.replace("(text)", "").strip()
    # For people, null is nothing.
    words = words.replace(", or null", ", or nothing")
    aside = "" if problem.message else _hidden(got)
    return _in_seconds(f"{words} ({aside})" if aside else words)


def _in_seconds(text: str) -> str:
    """Return a sentence on a timeline with its times in seconds, as its boxes are."""

    def in_seconds(time: re.Match[str]) -> str:
        number = float((time[1] or time[2]).replace(",", ""))
        return f"{number / MS_PER_S:,.12g} s"

    return MILLISECONDS.sub(in_seconds, text)


def _hidden(got: object) -> str:
    """Return the rejected value, if the form does not show it itself."""
    if isinstance(got, ValueDescription):
        return f"got {got}"
    if isinstance(got, list | tuple):
        return f"got {len(got)}"
    if isinstance(got, str) and len(got) > LONG_TEXT:
        return f"got {len(got):,} characters"
    return ""


def missing_text(
    spec: FieldSpec, problem: Problem, others: Iterable[FieldSpec] = ()
) -> str:
    """Ask for the value of a missing field, or of any of its alternatives."""
    whole = problem.field == spec.name
    if whole and (not problem.required or others):
        ways = (
            how_to_give(spec),
            *(mid_sentence(how_to_give(each)) for each in others),
        )
        return f"{', or '.join(ways)}."
    verb = "are" if whole and spec.kind == "list" else "is"
    when = rule_text(problem.required or "")
    return f"{place_text(spec, problem.field)} {verb} required{when}."


def how_to_give(spec: FieldSpec) -> str:
    """Return how to fill in a field: "Choose images"."""
    if spec.name in DESCRIBED:
        return DESCRIBED[spec.name]
    if spec.mask_of is not None:
        return "Paint a mask"
    medium = spec.media_kind or (spec.item and spec.item.media_kind)
    label = mid_sentence(label_of(spec))
    if spec.kind == "list":
        name = label
    elif " " in label or label.endswith("s"):
        name = f"the {label}"
    else:
        name = f"{'an' if label[:1].lower() in 'aeiou' else 'a'} {label}"
    return f"{'Choose' if medium or spec.kind == 'choice' else 'Enter'} {name}"
