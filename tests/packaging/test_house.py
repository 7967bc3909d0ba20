"""The house: each folder explained, and no circles."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import mediakit

SOURCE = Path(mediakit.__file__).parent

FOLDERS = sorted({path.parent for path in SOURCE.rglob("*.py")})
MODULES = {
    ".".join(("mediakit", *path.relative_to(SOURCE).with_suffix("").parts)): path
    for path in SOURCE.rglob("*.py")
}


def test_every_folder_says_what_it_is_for_and_what_it_depends_on() -> None:
    unexplained = []
    for folder in FOLDERS:
        tree = ast.parse((folder / "__init__.py").read_text())
        text = " ".join((ast.get_docstring(tree) or "").split())
        if text.count(". ") < 1:
            unexplained.append(str(folder.relative_to(SOURCE)))

    assert unexplained == []


def test_no_module_imports_itself_through_others() -> None:
    imported = {name: set(_imports(path)) for name, path in MODULES.items()}

    in_order = list(TopologicalSorter(imported).static_order())

    assert len(in_order) == len(MODULES)


def _imports(path: Path) -> Iterator[str]:
    """Yield the modules that a module imports when it is used."""
    for node in _run(ast.parse(path.read_text())):
        if not isinstance(node, ast.ImportFrom) or node.module is None:
            continue
        for alias in node.names:
            whole = f"{node.module}.{alias.name}"
            if whole in MODULES:
                yield whole
            elif node.module in MODULES:
                yield node.module


def _run(tree: ast.AST) -> Iterator[ast.AST]:
    """Walk a tree without what only a type checker reads."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            continue
        yield child
        yield from _run(child)
