"""The head of a form, its help and its static copy, as HTML; pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace

from markupsafe import Markup

from mediakit.catalog import Function
from mediakit.safe_text import NO_HTML, html_text, shown_url
from mediakit.schema import FieldSpec
from mediakit.widgets.controls.messages import label_of
from mediakit.widgets.form.state import FormState
from mediakit.widgets.timeline.static_html import still_html
from mediakit.widgets.timeline.time_axis import Axis
from mediakit.widgets.toolkit.styles import style_block
from mediakit.widgets.uploads.upload_folder import with_own_names

WEBHOOK = "webhook_url"
"""The field whose whole value may be a token."""


def head_html(function: Function, meta: tuple[str, ...]) -> Markup:
    """Write the head of a form, with the style sheet of everything below."""
    facts = NO_HTML.join(map(Markup("<span>{}</span>").format, meta))
    return style_block() + Markup(
        "<div class=mk-top><h3>{}</h3><div class=mk-meta>{}</div></div>"
        "<div class=mk-quiet>{}</div>"
    ).format(function.title, facts, function.doc)


def fields_html(function: Function) -> Markup:
    """Write what each field means, folded away, with the name to type in code."""
    row = Markup(
        "<tr><td>{}</td><td><code>{}</code></td>"
        "<td>{} <span class=mk-quiet>{}</span></td></tr>"
    )
    rows = (
        row.format(label_of(spec), name, spec.doc, _accepted(spec))
        for name, spec in _places(function.fields, "")
    )
    return Markup(
        "<details class=mk-fields-help><summary>What the fields mean</summary>"
        "<table class=mk-lines>{}</table></details>"
    ).format(NO_HTML.join(rows))


def _places(
    fields: Mapping[str, FieldSpec], within: str
) -> Iterator[tuple[str, FieldSpec]]:
    """Name every field with its place, such as "tracks[].keyframes[].url"."""
    for name, spec in fields.items():
        place, inner = f"{within}{name}", spec
        yield place, spec
        while inner.item is not None:
            place, inner = f"{place}[]", inner.item
        # A field that several variants have is explained once.
        fields = dict(inner.fields)
        for variant in inner.variants.values():
            fields = {**variant.fields, **fields}
        if inner.tag in fields:
            fields[inner.tag] = replace(fields[inner.tag], choices=(*inner.variants,))
        yield from _places(fields, f"{place}.")


def _accepted(spec: FieldSpec) -> str:
    limits = f"; {spec.limits.words}" if spec.limits else ""
    return f"{spec.accepted}{limits}"


def values_html(state: FormState) -> Markup:
    """Write a form as it stands, for a copy of the notebook without a kernel.

    Notebooks are passed on, so URLs are without passwords, signatures and tokens.
    """
    row = Markup("<tr><td>{}</td><td>{}</td></tr>").format
    rows = NO_HTML.join(
        row(html_text(name), _value_html(state, name, value))
        for name, value in state.body().items()
    )
    price = state.estimate.text if state.estimate else state.estimate_gap or ""
    return Markup("<div><b>{}</b><table>{}{}</table></div>").format(
        html_text(state.function.title), rows, row("price", html_text(price))
    )


def _value_html(state: FormState, name: str, value: object) -> Markup:
    value = "not shown here" if name == WEBHOOK else _without_secrets(value)
    spec = state.function.fields.get(name)
    axis = None if spec is None else Axis.of(spec, state.function.rules)
    seen = state.inspections.items()
    titles = {url: each.title for (_, url), each in seen if each.title}
    picture = "" if axis is None else still_html(axis, value, titles)
    value = with_own_names(value)
    text = (
        json.dumps(value, ensure_ascii=False)
        if isinstance(value, dict | list)
        else str(value)
    )
    return picture + html_text(text)


def _without_secrets(value: object) -> object:
    if isinstance(value, str):
        return shown_url(value)
    if isinstance(value, list | tuple):
        return [_without_secrets(each) for each in value]
    if isinstance(value, Mapping):
        return {name: _without_secrets(each) for name, each in value.items()}
    return value
