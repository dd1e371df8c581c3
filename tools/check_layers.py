#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the include and import edges against the layer table of ARCHITECTURE.md.

The table is the fenced block marked `layers`: one row per folder of src/
(`record: base platform trace/event_kind.hpp`), one per Python package or
module (`python/cli: report model`). A row allows a whole folder (without the
folders in it) or a single header. Edges inside a folder are free as long as no
circle of modules arises; a module is a header with the .cpp of its name, which
defines the functions that the header declares (definitions.py).

What a row allows, some file has to use: so the table is the picture of the
code, which --draw prints for Graphviz.

The table of folders in ARCHITECTURE.md has to name what there is, and no more.
"""

import argparse
import ast
import re
import sys
from pathlib import Path, PurePosixPath

from definitions import check_definitions

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
FOLDER_ROW = re.compile(r"^\| `([\w/]+)/` \|", re.MULTILINE)
TABLE = re.compile(r"^```layers\n(.*?)^```", re.MULTILINE | re.DOTALL)
CPP_SUFFIXES = {".cpp", ".hpp", ".h", ".cc"}
# Folders that hold nothing of the project's own.
UNLISTED_FOLDERS = {"build", "dist"}
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
        if not is_public(target)
    ]


def check_source_file(name: str, targets: list[str], rows: Edges) -> list[str]:
    folder = folder_of(name.removeprefix("src/"))
    if folder not in rows:
        return [f"{name}: folder {folder} has no row in the layer table"]
    allowed = rows[folder] | {folder}
    problems = []
    for target in targets:
        if "/" not in target:
            problems.append(f'{name}: include "{target}" by its path from src/')
        elif folder_of(target) not in allowed and target not in allowed and not is_public(target):
            problems.append(f"{name}: {folder} may not include {target}")
    return problems


def folder_of(name: str) -> str:
    return PurePosixPath(name).parent.as_posix()


def is_public(target: str) -> bool:
    return target.startswith("heapwright/")


def modules_of(edges: Edges) -> Edges:
    """The edges between modules: a header and the .cpp of its name are one."""
    modules: Edges = {}
    for name, targets in edges.items():
        module = PurePosixPath(name).with_suffix("").as_posix()
        others = {PurePosixPath(target).with_suffix("").as_posix() for target in targets}
        modules.setdefault(module, set()).update(others - {module})
    return modules


def find_circles(modules: Edges) -> list[list[str]]:
    """One shortest circle for each set of modules that reach each other, as a path."""
    circles = []
    placed: set[str] = set()
    for start in sorted(modules):
        circle = [] if start in placed else shortest_circle(modules, start)
        if circle:
            circles.append(circle)
            placed |= {m for m in reached_from(modules, start) if start in reached_from(modules, m)}
    return circles


def shortest_circle(modules: Edges, start: str) -> list[str]:
    paths = [[start]]
    seen: set[str] = set()
    for path in paths:
        for target in sorted(modules.get(path[-1], ())):
            if target == start:
                return [*path, start]
            if target not in seen:
                seen.add(target)
                paths.append([*path, target])
    return []


def reached_from(modules: Edges, start: str) -> set[str]:
    reached: set[str] = set()
    pending = [start]
    while pending:
        following = modules.get(pending.pop(), set()) - reached
        reached |= following
        pending += following
    return reached


def check_circles(edges: Edges) -> list[str]:
    return ["circle of modules: " + " -> ".join(circle) for circle in find_circles(modules_of(edges))]


def check_rows(root: Path, rows: Edges) -> list[str]:
    """Layer rows of what there is not."""
    problems = []
    for row in rows:
        part = root / "python" / "heapwright" / row.removeprefix("python/")
        is_there = (root / "src" / row).is_dir() or part.is_dir() or part.with_suffix(".py").is_file()
        if not is_there:
            problems.append(f"ARCHITECTURE.md: the layer table has a row for {row}, which is not there")
    return problems


def check_folder_table(root: Path, text: str) -> list[str]:
    listed = set(FOLDER_ROW.findall(text))
    top = [p for p in root.iterdir() if p.is_dir() and not p.name.startswith(".")]
    inner = [p for f in ("src", "python/heapwright") for p in (root / f).iterdir() if p.is_dir()]
    there = {p.relative_to(root).as_posix() for p in [*top, *inner] if p.name != "__pycache__"}
    there -= UNLISTED_FOLDERS
    gone = sorted(name for name in listed if not (root / name).is_dir())
    # include/heapwright stands for include.
    missing = sorted(name for name in there if not any((row + "/").startswith(name + "/") for row in listed))
    return [
        *(f"ARCHITECTURE.md: the folder table lists {name}/, which is not there" for name in gone),
        *(f"ARCHITECTURE.md: the folder table does not list {name}/" for name in missing),
    ]


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


def used_edges(root: Path, rows: Edges) -> Edges:
    """Of what each row allows, what its files include or import."""
    used: Edges = {row: set() for row in rows}
    source = root / "src"
    for path in cpp_files(source.parent):
        if path.is_relative_to(source):
            row = folder_of(path.relative_to(source).as_posix())
            targets = INCLUDE.findall(path.read_text(encoding="utf-8"))
            used.setdefault(row, set()).update(*({target, folder_of(target)} for target in targets))
    package = root / "python" / "heapwright"
    for path in package.rglob("*.py"):
        row = f"python/{python_part(path, package)}"
        tree = ast.parse(path.read_text(encoding="utf-8"))
        used.setdefault(row, set()).update(imported_parts(tree, path, package))
    return {row: used[row] & allowed for row, allowed in rows.items()}


def check_use(rows: Edges, used: Edges) -> list[str]:
    return [
        f"the layer table allows {row} to use {target}, which it does not: delete the word"
        for row, allowed in rows.items()
        for target in sorted(allowed - used[row])
    ]


def draw(used: Edges) -> str:
    """For `dot -Tsvg`: an arrow from each folder to each that it uses."""
    arrows = []
    for row, targets in used.items():
        prefix = "python/" if row.startswith("python/") else ""
        arrows += [f'  "{row}" -> "{prefix}{target}";' for target in sorted(targets)]
    return "\n".join(["digraph layers {", "  rankdir=BT; node [shape=box];", *arrows, "}"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", nargs="?", type=Path, default=Path(__file__).parent.parent)
    parser.add_argument(
        "--draw", action="store_true", help="print the folders' graph for Graphviz, and check nothing"
    )
    options = parser.parse_args()
    root = options.root
    text = (root / "ARCHITECTURE.md").read_text(encoding="utf-8")
    rows = read_table(text)
    used = used_edges(root, rows)
    if options.draw:
        print(draw(used))
        return 0
    problems, edges = check_source_includes(root, rows)
    problems += check_circles(edges)
    problems += check_definitions(root)
    problems += check_python(root, rows)
    problems += check_rows(root, rows)
    problems += check_use(rows, used)
    problems += check_folder_table(root, text)
    for problem in problems:
        print(problem)
    print(f"layers: {len(edges)} C++ files checked, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
