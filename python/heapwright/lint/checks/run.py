# SPDX-License-Identifier: MIT
"""Runs the checks over whole files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from heapwright.lint import clang
from heapwright.lint.checks import no_reserve, not_released, shared_from_new
from heapwright.lint.checks.tree import Problem, walk
from heapwright.lint.compile import Unit

_CHECKS = (shared_from_new.find, not_released.find, no_reserve.find)
_WORDS = tuple(check.WORDS for check in (shared_from_new, not_released, no_reserve))


class Job(NamedTuple):
    """roots: checks these files and files under them, including headers."""

    unit: Unit
    resource: tuple[str, ...]
    roots: tuple[str, ...]


class Checked(NamedTuple):
    """Findings by file. files: the unit's files under the roots; empty if it was not parsed."""

    problems: dict[str, list[Problem]]
    files: frozenset[str]
    error: str


def may_have_some(text: bytes) -> bool:
    """Whether the text could have a finding: every check's findings contain certain words."""
    return any(all(word.search(text) for word in words) for words in _WORDS)


def check(job: Job) -> Checked:
    """Checks one unit."""
    try:
        tree = clang.parse(job.unit, job.resource)
    except clang.ParseError as error:
        return Checked({}, frozenset(), str(error))
    errors = [str(one.spelling) for one in tree.diagnostics if one.severity >= 3]
    texts = {name: Path(name).read_bytes() for name in _own(tree, job)}
    wanted = {name for name, text in texts.items() if may_have_some(text)}
    found: dict[str, list[Problem]] = {}
    real: dict[str, str] = {}
    for declaration in tree.cursor.get_children() if wanted else ():
        place = declaration.location.file
        if place is None:
            continue
        name = place.name
        file = real.get(name) or real.setdefault(name, os.path.realpath(name))
        if file not in wanted:
            continue
        for seen in walk(declaration, texts[file], may_have_some, []):
            for check_one in _CHECKS:
                found.setdefault(file, []).extend(check_one(seen))
    return Checked(found, frozenset(texts), errors[0] if errors else "")


def _own(tree: object, job: Job) -> set[str]:
    """The unit's files under the roots."""
    names = {job.unit.file, *(one.include.name for one in tree.get_includes())}  # type: ignore[attr-defined]
    files = {os.path.realpath(name) for name in names}
    return {file for file in files if any(Path(file).is_relative_to(root) for root in job.roots)}
