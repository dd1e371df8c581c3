#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the include and import edges against the layer table of ARCHITECTURE.md.

The table is the fenced block marked `layers`: one row per folder of src/
(`record: base platform trace/event_kind.hpp`), one per Python package or
module (`python/cli: report model`). A row allows a whole folder or a single
header. Edges inside a folder are free as long as no file cycle arises.
"""

import argparse
import ast
import re
import sys
from pathlib import Path

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
TABLE = re.compile(r"^```layers\n(.*?)^```", re.MULTILINE | re.DOTALL)
CPP_SUFFIXES = {".cpp", ".hpp", ".h", ".cc"}
Edges = dict[str, set[str]]


def read_table(text: str) -> Edges:
    found = TABLE.search(text)
    if not found:
        raise SystemExit("ARCHITECTURE.md: no ```layers block; add the layer table")
    rows: Edges = {}
    for line in found.group(1).splitlines():
        name, _, allowed = line.partition(":")
        if name.strip():
            rows[name.strip()] = set(allowed.split())
    return rows


def cpp_files(root: Path) -> list[Path]:
    folders = [root / "src", root / "include"]
    return sorted(p for f in folders for p in f.rglob("*") if p.suffix in CPP_SUFFIXES)


def check_source_includes(root: Path, rows: Edges) -> tuple[list[str], Edges]:
    problems: list[str] = []
    edges: Edges = {}
    for path in cpp_files(root):
        name = path.relative_to(root).as_posix()
        targets = INCLUDE.findall(path.read_text(encoding="utf-8"))
        edges[name] = {t for target in targets for t in resolve(root, path, target)}
        if name.startswith("include/"):
            problems += check_public_header(name, targets)
        else:
            problems += check_source_file(name, targets, rows)
    return problems, edges


def resolve(root: Path, path: Path, target: str) -> list[str]:
    for base in (root / "src", root / "include", path.parent):
        if (base / target).is_file():
            return [(base / target).resolve().relative_to(root.resolve()).as_posix()]
    return []


def check_public_header(name: str, targets: list[str]) -> list[str]:
    return [
        f"{name}: includes {target}; public headers include only heapwright/ and the standard library"
        for target in targets
        if not target.startswith("heapwright/")
    ]


def check_source_file(name: str, targets: list[str], rows: Edges) -> list[str]:
    folder = name.split("/")[1]
    if folder not in rows:
        return [f"{name}: folder {folder} has no row in the layer table"]
    allowed = rows[folder] | {folder, "heapwright"}
    problems = []
    for target in targets:
        if "/" not in target:
            problems.append(f'{name}: include "{target}" by its path from src/')
        elif target.split("/")[0] not in allowed and target not in allowed:
            problems.append(f"{name}: {folder} may not include {target}")
    return problems


def find_cycle(edges: Edges) -> list[str]:
    """A file that reaches itself through includes, as a path; empty when none does."""
    done: set[str] = set()
    for start in sorted(edges):
        path: list[str] = []
        pending = [(start, 0)]
        while pending:
            node, depth = pending.pop()
            del path[depth:]
            if node in path:
                return [*path[path.index(node) :], node]
            if node in done:
                continue
            path.append(node)
            following = sorted(edges.get(node, ()))
            if not following:
                done.add(node)
            pending += [(target, depth + 1) for target in following]
        done.add(start)
    return []


def python_part(path: Path, package: Path) -> str:
    first = path.relative_to(package).parts[0]
    return first.removesuffix(".py").removesuffix(".pyi")


def imported_parts(tree: ast.AST, path: Path, package: Path) -> set[str]:
    parts: set[str] = set()
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [a.name for a in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = absolute_names(node, path, package)
        parts |= {n.split(".")[1] for n in names if n.startswith("heapwright.")}
    return parts


def absolute_names(node: ast.ImportFrom, path: Path, package: Path) -> list[str]:
    if node.level == 0:
        base = node.module or ""
    else:
        here = ["heapwright", *path.relative_to(package).parent.parts]
        here = here[: len(here) - node.level + 1]
        base = ".".join([*here, *([node.module] if node.module else [])])
    if base == "heapwright":
        return [f"heapwright.{a.name}" for a in node.names]
    return [base]


def check_python(root: Path, rows: Edges) -> list[str]:
    package = root / "python" / "heapwright"
    problems = []
    for path in sorted(package.rglob("*.py")):
        part = python_part(path, package)
        name = path.relative_to(root).as_posix()
        if f"python/{part}" not in rows:
            problems.append(f"{name}: python/{part} has no row in the layer table")
            continue
        allowed = rows[f"python/{part}"] | {part}
        tree = ast.parse(path.read_text(encoding="utf-8"))
        known = {python_part(p, package) for p in package.iterdir()} | {"_native"}
        for target in sorted(imported_parts(tree, path, package) & known - allowed):
            problems.append(f"{name}: python/{part} may not import {target}")
    return problems


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", nargs="?", type=Path, default=Path(__file__).parent.parent)
    root = parser.parse_args().root
    rows = read_table((root / "ARCHITECTURE.md").read_text(encoding="utf-8"))
    problems, edges = check_source_includes(root, rows)
    cycle = find_cycle(edges)
    if cycle:
        problems.append("include cycle: " + " -> ".join(cycle))
    problems += check_python(root, rows)
    for problem in problems:
        print(problem)
    print(f"layers: {len(edges)} C++ files checked, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
