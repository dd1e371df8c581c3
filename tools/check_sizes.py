#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks lengths: files, functions, nesting, in C++ and Python.

A file over 450 lines gives its reason in a line `// length: why` (Python:
`# length: why`) among its first 12 lines; over 600 fails. A function over 60
lines fails, and so does a nesting of more than 3 blocks.
C++ is read by its braces, not parsed: a body is a brace that follows a
parameter list outside of any other body.
"""

import argparse
import ast
import re
import sys
from pathlib import Path

FILE_HARD_LINES = 600
FILE_REASON_LINES = 450
FUNCTION_LINES = 60
NESTING = 3
FOLDERS = ("src", "include", "python", "tests", "tools", "bench", "fuzz")
CPP_SUFFIXES = {".cpp", ".hpp", ".h", ".cc", ".c"}
REASON = re.compile(r"^\s*(//|#)\s*length:\s*\S+")

CPP_NOISE = re.compile(
    r'R"(?P<tag>[^(\s]{0,16})\((?:.|\n)*?\)(?P=tag)"'
    r"|//[^\n]*|/\*(?:.|\n)*?\*/"
    r'|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'"
)
CONTROL = re.compile(r"\b(if|for|while|switch|catch|else|do|try)\b[^;{}]*$")
CONTAINER = re.compile(r"\b(namespace|struct|class|enum|union|extern)\b[^;{}()]*$")
SIGNATURE_END = re.compile(r"\)[\s\w:&<>,*=\-.()\[\]]*$")


def blank_noise(text: str) -> str:
    """Comments, strings and preprocessor lines as blanks; line numbers stay."""

    def blank(found: re.Match[str]) -> str:
        return re.sub(r"[^\n]", " ", found.group(0))

    text = CPP_NOISE.sub(blank, text)
    return re.sub(r"(?m)^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", blank, text)


class Brace:
    def __init__(self, kind: str, line: int, name: str) -> None:
        self.kind = kind  # "function", "block" or "other"
        self.line = line
        self.name = name


def kind_of_brace(before: str, is_in_function: bool) -> str:
    if CONTROL.search(before):
        return "block" if is_in_function else "other"
    if CONTAINER.search(before):
        return "other"
    if SIGNATURE_END.search(before):
        return "block" if is_in_function else "function"
    return "other"


def head_before(text: str, position: int) -> str:
    """The statement that leads to the brace at `position`; for(;;) stays whole."""
    depth = 0
    start = position
    while start > 0:
        char = text[start - 1]
        depth += (char == ")") - (char == "(")
        if depth <= 0 and char in ";{}":
            break
        start -= 1
    return text[start:position]


def check_cpp(name: str, text: str) -> list[str]:
    text = blank_noise(text)
    problems: list[str] = []
    open_braces: list[Brace] = []
    line = 1
    for position, char in enumerate(text):
        if char == "\n":
            line += 1
        elif char == "{":
            head = head_before(text, position)
            is_in_function = any(b.kind == "function" for b in open_braces)
            kind = kind_of_brace(head.strip(), is_in_function)
            begin = line - head.lstrip().count("\n")
            open_braces.append(Brace(kind, begin, " ".join(head.split())[-60:]))
            depth = sum(b.kind == "block" for b in open_braces)
            if kind == "block" and depth == NESTING + 1:
                problems.append(f"{name}:{line}: {depth} blocks deep, at most {NESTING}")
        elif char == "}" and open_braces:
            closed = open_braces.pop()
            lines = line - closed.line + 1
            if closed.kind == "function" and lines > FUNCTION_LINES:
                problems.append(
                    f"{name}:{closed.line}: {lines} lines, at most {FUNCTION_LINES}: {closed.name}"
                )
    return problems


BLOCKS = (ast.If, ast.For, ast.While, ast.With, ast.Try, ast.AsyncFor, ast.AsyncWith, ast.Match)


def nesting_of(node: ast.AST) -> int:
    deepest = 0
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue
        inner = nesting_of(child)
        is_elif = isinstance(node, ast.If) and isinstance(child, ast.If) and [child] == node.orelse
        deepest = max(deepest, inner + (isinstance(child, BLOCKS) and not is_elif))
    return deepest


def check_python(name: str, text: str) -> list[str]:
    problems = []
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        lines = (node.end_lineno or node.lineno) - node.lineno + 1
        if lines > FUNCTION_LINES:
            problems.append(f"{name}:{node.lineno}: {lines} lines, at most {FUNCTION_LINES}: {node.name}")
        depth = nesting_of(node)
        if depth > NESTING:
            problems.append(f"{name}:{node.lineno}: {depth} blocks deep, at most {NESTING}: {node.name}")
    return problems


def check_length(name: str, text: str) -> list[str]:
    lines = text.splitlines()
    if len(lines) > FILE_HARD_LINES:
        return [f"{name}: {len(lines)} lines, at most {FILE_HARD_LINES}"]
    has_reason = any(REASON.match(line) for line in lines[:12])
    if len(lines) > FILE_REASON_LINES and not has_reason:
        return [f"{name}: {len(lines)} lines; over {FILE_REASON_LINES} needs a line '// length: why'"]
    return []


def check_file(root: Path, path: Path) -> list[str]:
    name = path.relative_to(root).as_posix()
    text = path.read_text(encoding="utf-8")
    problems = check_length(name, text)
    if path.suffix == ".py":
        return problems + check_python(name, text)
    return problems + check_cpp(name, text)


def source_files(root: Path) -> list[Path]:
    found = (p for folder in FOLDERS for p in (root / folder).rglob("*"))
    wanted = CPP_SUFFIXES | {".py"}
    return sorted(p for p in found if p.suffix in wanted and "generated" not in p.parts and p.is_file())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", nargs="?", type=Path, default=Path(__file__).parent.parent)
    root = parser.parse_args().root
    files = source_files(root)
    problems = [problem for path in files for problem in check_file(root, path)]
    for problem in problems:
        print(problem)
    print(f"sizes: {len(files)} files checked, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
