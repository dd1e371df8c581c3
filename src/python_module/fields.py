#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Reads the structs of C++ headers, and writes the code with which Python reads their values.

    fields.py VISITORS.hpp ROWS HEADER... MAIN
    fields.py VISITORS.hpp - HEADER...

VISITORS.hpp: fields(row, visit) for each struct, which calls visit(name, member) for every field.
ROWS: a Python package with the same structs as named tuples, a module for each header, with the comment
above a struct as its docstring. MAIN's structs are in the package itself, which exports all the others.
Without rows (-) fields may be arrays.
The build runs it; it writes a file only if its content changes. A line of a struct that is not a field,
comment, constant or function is an error, so nothing is silently left out.
"""

import re
import sys
import textwrap
from pathlib import Path
from typing import NamedTuple

NAMESPACE = re.compile(r"^namespace ([\w:]+) \{$", re.MULTILINE)
STRUCT = re.compile(r"((?:^//.*\n)*)^struct (?:alignas\(\d+\) )?(\w+) \{\n((?:.*\n)*?)\};$", re.MULTILINE)
COMMENT = re.compile(r"\s*//.*$", re.MULTILINE)
FIELD = re.compile(r"^  ([\w:<>]+) (\w+)(?: = [^;,]+)?;$")
ARRAY = re.compile(r"^  ([\w:<>]+) (\w+)\[\w+\];$")
NO_FIELD = re.compile(r"^  static constexpr .*;$")
SCALARS = {
    "double": "float",
    "bool": "bool",
    "std::string": "str",
    "trace::EventKind": "int",
    **{f"std::uint{bits}_t": "int" for bits in (8, 16, 32, 64)},
}
# These have so many rows that Python reads them column by column.
BY_COLUMN = {
    "stacks", "stack_lives", "series_moments", "path_bins", "thread_bins", "latency_bins", "slow_bins",
    "page_cells", "path_pins",
}  # fmt: skip


class Struct(NamedTuple):
    """A struct of C++: its fields by name, with their types."""

    namespace: str
    name: str
    comment: str
    fields: dict[str, str]


def structs_of(header: Path, takes_arrays: bool) -> list[Struct]:
    """The structs that a header defines; fails on lines that it does not understand."""
    text = header.read_text(encoding="utf-8")
    namespace = NAMESPACE.findall(text)[-1]
    found = []
    for comment, name, body in STRUCT.findall(text):
        fields = {}
        for line in filter(None, COMMENT.sub("", body).split("\n")):
            field = FIELD.match(line) or (ARRAY.match(line) if takes_arrays else None)
            if field and "std::int" in field[1]:
                raise SystemExit(f"{header}: {name}: columns are unsigned: {line.strip()}")
            if field:
                fields[field[2]] = field[1]
            elif not NO_FIELD.match(line):
                raise SystemExit(f"{header}: {name}: not understood: {line.strip()}")
        found.append(Struct(namespace, name, comment, fields))
    return found


def visitors(structs: list[Struct], headers: list[str]) -> str:
    """The C++: found by the namespace of its argument."""
    lines = ["// Written by src/python_module/fields.py.", "#pragma once", ""]
    lines += [f'#include "{header}"' for header in headers]
    for struct in structs:
        lines += [
            "",
            f"namespace {struct.namespace} {{",
            "template <typename Visit>",
            f"void fields(const {struct.name}& of, const Visit& visit) {{",
            *(f'  visit("{name}", of.{name});' for name in struct.fields),
            "}",
            "}",
        ]
    return "\n".join(lines) + "\n"


def python_type(kind: str, name: str) -> str:
    """How Python writes the type of a field."""
    inner = re.match(r"std::(vector|optional)<(.*)>$", kind)
    if name in BY_COLUMN:
        return "Columns"
    if inner:
        of = python_type(inner[2], "")
        return f"tuple[{of}, ...]" if inner[1] == "vector" else f"{of} | None"
    return SCALARS.get(kind, kind)


def in_order(structs: list[Struct]) -> list[Struct]:
    """Sorted so that each comes after the structs of its fields."""
    left = {struct.name: struct for struct in structs}
    ordered: list[Struct] = []

    def place(struct: Struct) -> None:
        if left.pop(struct.name, None) is None:
            return
        for kind in struct.fields.values():
            for part in re.findall(r"\w+", kind):
                if part in left:
                    place(left[part])
        ordered.append(struct)

    for struct in structs:
        place(struct)
    return ordered


def is_read_by_row(struct: Struct, structs: list[Struct]) -> bool:
    """False if it is used only in tables that Python reads column by column."""
    uses = [
        name for other in structs for name, kind in other.fields.items()
        if struct.name in re.findall(r"\w+", kind)
    ]  # fmt: skip
    return not uses or any(name not in BY_COLUMN for name in uses)


def docstring(comment: str) -> list[str]:
    """The comment above a struct."""
    text = " ".join(line.removeprefix("//").strip() for line in comment.splitlines())
    lines = textwrap.wrap(f'"""{text}', 100, initial_indent="    ", subsequent_indent="    ")
    return [*lines[:-1], f'{lines[-1]}"""', ""] if len(lines) == 1 else [*lines, '    """', ""]


class Module(NamedTuple):
    """The structs of one header."""

    name: str
    header: str
    structs: list[Struct]


def module_text(module: Module, module_of: dict[str, str], exports: list[str]) -> str:
    """The Python code of one module. exports: for the package itself, the names it exports."""
    body: list[str] = []
    used: set[str] = set(exports)
    for struct in in_order(module.structs):
        types = {name: python_type(kind, name) for name, kind in struct.fields.items()}
        used |= {part for kind in types.values() for part in re.findall(r"\w+", kind)}
        body += ["", "", f"class {struct.name}(NamedTuple):", *docstring(struct.comment)]
        body += [f"    {name}: {kind}" for name, kind in types.items()]
    imports = []
    for other in sorted(set(module_of.values()) - {module.name}):
        names = sorted(name for name in used if module_of.get(name) == other)
        imports += import_lines(other, names) if names else []
    imports += ["from heapwright.model.values import Columns"] if "Columns" in used else []
    lines = ["# SPDX-License-Identifier: MIT"]
    lines += [f'"""The structs of src/{module.header}, where their fields are explained.', ""]
    lines += ["Written by src/python_module/fields.py at each build, not by hand.", '"""', ""]
    lines += ["# Annotations are values here: values.py reads the rows by them.", ""]
    lines += ["from typing import NamedTuple"]
    lines += ["", *imports] if imports else []
    lines += ["", "__all__ = [", *(f'    "{name}",' for name in exports), "]"] if exports else []
    return "\n".join([*lines, *body]) + "\n"


def import_lines(module: str, names: list[str]) -> list[str]:
    """Formatted like ruff does."""
    line = f"from heapwright.model.facts.{module} import {', '.join(names)}"
    if len(line) <= 110:
        return [line]
    start = line.partition(" import ")[0]
    return [f"{start} import (", *(f"    {name}," for name in names), ")"]


def rows(structs_of_header: dict[str, list[Struct]]) -> dict[str, str]:
    """The package: the code of its modules by file name."""
    structs = [struct for found in structs_of_header.values() for struct in found]
    modules = []
    for header, found in structs_of_header.items():
        kept = [struct for struct in found if is_read_by_row(struct, structs)]
        modules.append(Module(Path(header).stem, header, kept))
    main = modules.pop()._replace(name="__init__")
    module_of = {struct.name: module.name for module in [*modules, main] for struct in module.structs}
    texts = {f"{module.name}.py": module_text(module, module_of, []) for module in modules if module.structs}
    return {**texts, "__init__.py": module_text(main, module_of, sorted(module_of))}


def write(path: Path, text: str) -> None:
    """Does not touch a file that already has this content."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def write_package(folder: Path, texts: dict[str, str]) -> None:
    """Also deletes modules that no header produces any longer."""
    for name, text in texts.items():
        write(folder / name, text)
    for path in folder.glob("*.py"):
        if path.name not in texts:
            path.unlink()


def main() -> None:
    """Header paths are given as they are; in the output they are relative to src/."""
    visitors_path, rows_path, *paths = map(Path, sys.argv[1:])
    has_rows = rows_path != Path("-")
    structs = [structs_of(path, takes_arrays=not has_rows) for path in paths]
    source = Path(__file__).resolve().parent.parent
    headers = [path.resolve().relative_to(source).as_posix() for path in paths]
    write(visitors_path, visitors([struct for found in structs for struct in found], headers))
    if has_rows:
        write_package(rows_path, rows(dict(zip(headers, structs, strict=True))))


if __name__ == "__main__":
    main()
