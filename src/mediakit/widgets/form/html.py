"""The static copy of a form, as HTML."""

from __future__ import annotations

import json

from markupsafe import Markup

from mediakit.safe_text import NO_HTML, html_text, shown_url
from mediakit.widgets.controls.json_values import with_texts
from mediakit.widgets.form.state import FormState
from mediakit.widgets.timeline.static_html import still_html
from mediakit.widgets.timeline.time_axis import Axis
from mediakit.widgets.uploads.upload_folder import shown_path

WEBHOOK = "webhook_url"
"""The field whose whole value may be a token."""


def values_html(state: FormState) -> Markup:
    """Return the values of a form for a notebook without a kernel."""
    # Notebooks are passed on: URLs are without passwords, signatures and tokens.
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
    value = "not shown here" if name == WEBHOOK else with_texts(value, shown_url)
    spec = state.function.fields.get(name)
    axis = None if spec is None else Axis.of(spec, state.function.rules)
    picture = "" if axis is None else still_html(axis, value, state.media_titles)
    value = with_texts(value, shown_path)
    text = (
        json.dumps(value, ensure_ascii=False)
        if isinstance(value, dict | list)
        else str(value)
    )
    return picture + html_text(text)
