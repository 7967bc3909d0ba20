"""Text for CSV files that a spreadsheet does not run as a formula."""

from __future__ import annotations

import re

FORMULA_SIGNS = frozenset("=+-@\t\r\n＝＋－＠")  # noqa: RUF001 - Excel reads them too

# How a prompt cites its inputs. Excel reads such a cell as the names Image1, walks, ...
# and shows #NAME? at worst: without a call, a link or a comparison, nothing runs.
_CITATION = re.compile(r"@(?:Image|Video|Audio)[0-9]+(?![\w(!.\[])")
_RUNS = re.compile(r"\w\s*\(|!\w|!\$|[|=\[]")


def harmless(text: str) -> str:
    """Return text that a spreadsheet does not execute as a formula.

    A leading apostrophe makes it text; any other text is unchanged, and so is a prompt
    that begins with a citation such as "@Image1".
    """
    if text.lstrip(" ")[:1] not in FORMULA_SIGNS or not text:
        return text
    if _CITATION.match(text) and not _RUNS.search(text):
        return text
    return f"'{text}"
