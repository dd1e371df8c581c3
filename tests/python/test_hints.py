# SPDX-License-Identifier: MIT
"""Every command that a message of ours tells to type: its name and options are there."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import heapwright
import pytest
from written_traces import Command

SOURCES = Path(heapwright.__file__).parent
SAID = re.compile(r"heapwright ([a-z]+)((?: [^`;]*)?)")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")


def texts(tree: ast.AST) -> Iterator[str]:
    """Texts and formatted texts, in these what is filled in as X; documentation is left out."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            node.value.value = ""
        elif isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "X" for part in node.values)
            node.values = []
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def told() -> dict[str, set[str]]:
    """By command: the options that our texts name with it."""
    found: dict[str, set[str]] = {}
    for file in SOURCES.rglob("*.py"):
        for text in texts(ast.parse(file.read_text(encoding="utf-8"))):
            for name, rest in SAID.findall(text):
                own = rest.partition(" -- ")[0]
                found.setdefault(name, set()).update(OPTION.findall(own))
    return found


TOLD = told()
COMMANDS = ("compare", "count", "dump", "explain", "export", "fleet", "gate", "info", "lab", "lint", "record",
            "replay", "run", "serve", "sql", "top")  # fmt: skip


def test_the_hints_are_found() -> None:
    assert {"--question", "--all"} <= TOLD["explain"]
    assert {"--pid", "--duration"} <= TOLD["record"]
    assert "--change" in TOLD["replay"]


@pytest.mark.parametrize("name", [name for name in COMMANDS if TOLD.get(name)])
def test_options_of_hints_exist(command: Command, name: str) -> None:
    known = set(OPTION.findall(command(name, "--help").out))
    assert TOLD[name] - known - {"--help"} == set()
