"""Settings of the documentation site; `make site` builds it.

The site is made from the repository itself, so that a link between two files works on
the site as it does in the repository.
"""

import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

from docutils import nodes

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS.parent / "tools"))

import site_tables  # noqa: E402

project = "mediakit"
author = "the mediakit contributors"
copyright = author
root_doc = "docs/index"
include_patterns = [
    "docs/*.md",
    "docs/howto/*.md",
    "docs/reference/*.md",
    "docs/explanation/*.md",
    "notebooks/*.ipynb",
    "notebooks/README.md",
    "benchmarks/README.md",
    "examples/*/README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
]
exclude_patterns = [".*", "build", "dist", "src", "tests"]

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
]
nitpicky = False
default_role = "code"  # docstrings write `names` as Markdown does
autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented_params"
autodoc_inherit_docstrings = True
napoleon_numpy_docstring = False
myst_heading_anchors = 4
copybutton_exclude = ".linenos, .gp, .go"

nb_execution_mode = "force"
nb_execution_timeout = 600
nb_execution_raise_on_error = True
# A page shows what a saved notebook shows: widgets need a kernel.
nb_mime_priority_overrides = [
    ("html", "application/vnd.jupyter.widget-view+json", None),
]
nb_ipywidgets_js: dict[str, dict[str, str]] = {}

html_theme = "furo"
html_title = "mediakit"
html_extra_path = ["site"]
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": True}

TABLES = {
    "<!-- table: admin interface -->": site_tables.admin_interface,
    "<!-- table: history -->": site_tables.history,
}


MEDIA = re.compile(r"http://127\.0\.0\.1:\d+/files/([\w-]+)(\.\w+)")
"""The address of a file in a sandbox, which ends with the build."""


def setup(app):
    """Give each notebook a sandbox of its own, keep its media, fill in the tables."""
    home = tempfile.mkdtemp(prefix="mediakit-site-")

    def read(app, docname, source):
        os.environ["MEDIAKIT_HOME"] = f"{home}/{docname}"
        for mark, table in TABLES.items():
            if mark in source[0]:
                source[0] = source[0].replace(mark, table())

    def keep_media(app, doctree):
        def copied(found):
            name, suffix = found.groups()
            [file] = Path(home).rglob(name)
            (app.outdir / "media").mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, app.outdir / "media" / f"{name}{suffix}")
            return f"../media/{name}{suffix}"

        for node in doctree.findall(nodes.raw):
            node.children = [nodes.Text(MEDIA.sub(copied, node.astext()))]

    for name in ("MEDIAKIT_BASE_URL", "MEDIAKIT_API_KEY", "MEDIAKIT_HISTORY"):
        os.environ.pop(name, None)
    app.connect("source-read", read)
    app.connect("doctree-read", keep_media)
    app.connect("build-finished", lambda *_: shutil.rmtree(home, ignore_errors=True))
