#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that no Python module reaches itself by imports, and that one module alone imports _native.

Imports inside of functions count; those for types alone (`if TYPE_CHECKING:`) do not.
"""

import argparse
import ast
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

PACKAGE = "heapwright"
NATIVE = f"{PACKAGE}._native"
ITS_IMPORTER = f"{PACKAGE}.model.native"


def module_name(path: Path, above: Path) -> str:
    parts = path.relative_to(above).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(node: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """All but those for types alone."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        yield node
    elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        for other in node.orelse:
            yield from imports(other)
    else:
        for child in ast.iter_child_nodes(node):
            yield from imports(child)


def targets(node: ast.Import | ast.ImportFrom, package: str, known: set[str]) -> Iterator[str]:
    """The modules that are asked for by name; a package only where something of its own is taken."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names if alias.name in known)
        return
    base = node.module or ""
    if node.level:
        above = package.split(".")[: len(package.split(".")) - node.level + 1]
        base = ".".join([*above, *([node.module] if node.module else [])])
    for alias in node.names:
        found = f"{base}.{alias.name}"
        if found in known or base in known:
            yield found if found in known else base


def read(package: Path) -> dict[str, set[str]]:
    """What each module imports of the package."""
    files = {module_name(path, package.parent): path for path in sorted(package.rglob("*.py"))}
    known = {*files, NATIVE}
    edges: dict[str, set[str]] = {}
    for name, path in files.items():
        own_package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        nodes = imports(ast.parse(path.read_text(encoding="utf-8")))
        edges[name] = {target for node in nodes for target in targets(node, own_package, known)} - {name}
    return edges


def problems_of(edges: dict[str, set[str]]) -> list[str]:
    problems = [
        f"{name} imports _native; {ITS_IMPORTER} alone does"
        for name, targets in edges.items()
        if NATIVE in targets and name != ITS_IMPORTER
    ]
    try:
        TopologicalSorter(edges).prepare()
    except CycleError as error:
        problems.append(f"import cycle: {' <- '.join(error.args[1])}")
    return problems


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", nargs="?", type=Path, default=Path(__file__).parent.parent)
    edges = read(parser.parse_args().root / "python" / PACKAGE)
    problems = problems_of(edges)
    for problem in problems:
        print(problem)
    print(f"imports: {len(edges)} Python modules checked, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
