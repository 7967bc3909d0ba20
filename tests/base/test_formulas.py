"""No text in a saved notebook is typeset as a formula: MathJax typesets "$...$"."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import mediakit
from mediakit.catalog import Catalog
from mediakit.estimates import Estimate, per_second
from mediakit.safe_text import html_text
from mediakit.widgets.form.html import values_html
from mediakit.widgets.form.state import FormState
from mediakit.widgets.job.card import card_html, waited_html
from mediakit.widgets.studio.head import saved_html
from tests.support.job_states import failed, settled, state_of

FORMULAS = r"from $5$ to $$9$$ and \(x\), \[y\], \begin{z}1\end{z}"
NOT_TYPESET = {"code", "pre", "script", "style"}


class Texts(HTMLParser):
    """Collects the text nodes of HTML that MathJax would search for formulas."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self._skipped = 0
        self.feed(str(html))
        self.close()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self._skipped += tag in NOT_TYPESET

    def handle_endtag(self, tag: str) -> None:
        self._skipped -= tag in NOT_TYPESET

    def handle_data(self, data: str) -> None:
        if not self._skipped:
            self.texts.append(data)


def test_all_html_of_widgets_is_escaped() -> None:
    tag = re.compile(
        r"</?(a|b|code|div|h\d|img|li|p|pre|span|summary|t[dhr]|table|ul)\b"
    )
    found = []
    for folder in ("widgets", "magics"):
        for path in (Path(mediakit.__file__).parent / folder).rglob("*.py"):
            text = path.read_text("utf-8")
            # Parsing takes long, and most modules have no "<".
            for node in ast.walk(ast.parse(text)) if "<" in text else ():
                if isinstance(node, ast.JoinedStr) and tag.search(ast.unparse(node)):
                    found.append(f"{path.name}:{node.lineno}")

    assert found == []


def assert_no_formulas(html: str) -> None:
    for text in Texts(html).texts:
        assert text in ("$", "\\") or not {"$", "\\"} & set(text), text


def _values_html() -> str:
    compose = Catalog.default().function("compose-video")
    clip = {"timestamp": 0, "duration": 1000, "url": f"https://x.test/{FORMULAS}"}
    track = {"id": FORMULAS, "type": "video", "keyframes": [clip]}
    video = Catalog.default().function("text-to-video")
    return values_html(FormState.start(compose, {"tracks": [track]})) + values_html(
        FormState.start(video, {"prompt": FORMULAS})
    )


def _studio_html() -> str:
    row = dict.fromkeys(("title", "function", "state", "date", "job"), FORMULAS)
    return saved_html(
        {
            "service": FORMULAS,
            "facts": [{"exact": "Balance: $1.00, today $2.00"}],
            "rows": [{**row, "charge": "$0.34"}],
        }
    )


def _estimate_html() -> str:
    line = per_second(FORMULAS, 1000, 2000, 68_000)
    return Estimate.of([line, line], notes=[FORMULAS])._repr_html_()


OUTPUTS: dict[str, Callable[[], str]] = {
    "card": lambda: card_html(
        state_of(
            "completed",
            kind=FORMULAS,
            function=FORMULAS,
            service=FORMULAS,
            prompt=FORMULAS,
            body={"duration": FORMULAS},
            **settled(300_000),
        )
    ),
    "card of a long prompt": lambda: card_html(state_of(prompt=FORMULAS * 20)),
    "card of a failure": lambda: card_html(failed("internal", FORMULAS)),
    "waits": lambda: waited_html([state_of(prompt=FORMULAS, kind=FORMULAS)] * 5),
    "form": _values_html,
    "studio": _studio_html,
    "estimate": _estimate_html,
}


@pytest.mark.parametrize("html_of", OUTPUTS.values(), ids=OUTPUTS.keys())
def test_no_text_in_a_saved_notebook_becomes_a_formula(
    html_of: Callable[[], str],
) -> None:
    html = html_of()
    assert "$" in html
    assert_no_formulas(html)


@given(text=st.text(st.sampled_from("$\\()[]<>&\"'a "), max_size=30))
def test_a_text_reads_as_it_was_written(text: str) -> None:
    assert_no_formulas(html_text(text))
    assert "".join(Texts(html_text(text)).texts) == text
