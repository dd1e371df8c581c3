# SPDX-License-Identifier: MIT
"""Reads the expressions at given lines of given files, in several processes."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from heapwright.lint import clang, owners
from heapwright.lint.clang import Cursor
from heapwright.lint.compile import Unit
from heapwright.lint.expression import (
    CALL,
    CONSTRUCT,
    DEPENDENT,
    NEW,
    NEW_ARRAY,
    TEMPORARY,
    THROW,
    Expression,
    LineFacts,
    Owner,
)

_LONGEST_TEXT = 200
_C_ALLOCATION = re.compile(r"(?:malloc|calloc|realloc|strdup|strndup)$")
_ARRAY = re.compile(r"(?:::)?new\b[^({]*\[")
_PLACEMENT = re.compile(r"(?:::)?new\s*\((?!\s*(?:std::)?nothrow)")


class Job(NamedTuple):
    """One unit to parse, and the wanted lines of its files."""

    unit: Unit
    resource: tuple[str, ...]
    lines: Mapping[str, frozenset[int]]


class Parsed(NamedTuple):
    """errors: the compiler's first few; files: the wanted files that the unit has."""

    found: dict[tuple[str, int], LineFacts]
    files: frozenset[str]
    errors: tuple[str, ...]


def parse(job: Job) -> Parsed:
    """Checks one unit."""
    try:
        tree = clang.parse(job.unit, job.resource)
    except clang.ParseError as error:
        return Parsed({}, frozenset(), (str(error),))
    errors = [str(problem.spelling) for problem in tree.diagnostics if problem.severity >= 3]
    texts = {file: _text_of(file) for file in job.lines}
    found: dict[tuple[str, int], LineFacts] = {}
    seen: set[str] = set()
    for declaration, file in declarations(tree, job.lines):
        seen.add(file)
        walk = _Walk(texts[file], job.lines[file])
        walk.visit(declaration)
        for line, facts in walk.found().items():
            key = (file, line)
            found[key] = _joined(found[key], facts) if key in found else facts
    return Parsed(found, frozenset(seen), tuple(errors[:3]))


def declarations(tree: Any, files: Mapping[str, object]) -> Iterator[tuple[Cursor, str]]:
    """The outermost declarations in these files."""
    known: dict[str, str] = {}
    for declaration in tree.cursor.get_children():
        place = declaration.location.file
        if place is None:
            continue
        name = place.name
        if name not in known:
            known[name] = os.path.realpath(name)
        if known[name] in files:
            yield declaration, known[name]


def _text_of(file: str) -> bytes:
    try:
        return Path(file).read_bytes()
    except OSError:
        return b""


def _joined(a: LineFacts, b: LineFacts) -> LineFacts:
    return LineFacts(
        a.expressions + b.expressions,
        a.is_class or b.is_class,
        a.is_constructor or b.is_constructor,
        a.function or b.function,
        a.is_template or b.is_template,
        a.is_closing or b.is_closing,
    )


class _Walk:
    """Descends one declaration to cursors on the wanted lines."""

    def __init__(self, text: bytes, lines: frozenset[int]) -> None:
        self._text = text
        self._lines = sorted(lines)
        self._wanted = lines
        self._above: list[Cursor] = []
        self._function: list[Cursor] = []
        self._loops = 0
        self._found: dict[int, dict[str, Any]] = {line: {"expressions": []} for line in lines}

    def found(self) -> dict[int, LineFacts]:
        return {
            line: LineFacts(**{**facts, "expressions": tuple(facts["expressions"])})
            for line, facts in self._found.items()
            if len(facts) > 1 or facts["expressions"]
        }

    def visit(self, cursor: Cursor, of_call: Sequence[int] = ()) -> None:
        """of_call: the lines of the enclosing call: its arguments are also made at its line."""
        begin, end = cursor.extent.start.line, cursor.extent.end.line
        lines = [line for line in self._lines if begin <= line <= end] or list(of_call)
        if not lines:
            return
        is_function, is_loop = clang.is_function(cursor), clang.is_loop(cursor)
        if clang.is_class(cursor) and cursor.is_definition():
            for line in {begin, cursor.location.line} & self._wanted:
                self._found[line]["is_class"] = True
        if is_function or clang.is_kind(cursor, "LAMBDA_EXPR"):
            self._enter(cursor, lines)
        if clang.is_kind(cursor, "COMPOUND_STMT") and end in self._wanted:
            self._found[end]["is_closing"] = True
        loops = self._loops
        self._loops = 0 if is_function else loops + is_loop
        made = self._expression(cursor, begin, end)
        for line in lines if made else ():
            self._found[line]["expressions"].append(made)
        self._above.append(cursor)
        is_of_call = clang.is_kind(cursor, "CALL_EXPR") or (of_call and clang.is_wrapper(cursor))
        for child in cursor.get_children():
            self.visit(child, lines if is_of_call else ())
        self._above.pop()
        self._loops = loops
        if is_function:
            self._function.pop()

    def _enter(self, cursor: Cursor, lines: Sequence[int]) -> None:
        if not clang.is_function(cursor):
            return
        self._function.append(cursor)
        name, is_template = clang.qualified(cursor), clang.is_template(cursor)
        for line in lines:
            self._found[line]["function"] = name
            self._found[line]["is_template"] = is_template
            if clang.is_kind(cursor, "CONSTRUCTOR"):
                body = [child for child in cursor.get_children() if clang.is_kind(child, "COMPOUND_STMT")]
                is_before = not body or line <= body[0].extent.start.line
                self._found[line]["is_constructor"] = is_before

    def _expression(self, cursor: Cursor, begin: int, end: int) -> Expression | None:
        if clang.is_kind(cursor, "CXX_NEW_EXPR"):
            return self._new(cursor, begin, end)
        if clang.is_kind(cursor, "CXX_THROW_EXPR"):
            return self._made(cursor, begin, end, THROW, "throw", owner=Owner(TEMPORARY))
        if clang.is_kind(cursor, "CALL_EXPR"):
            return self._call(cursor, begin, end)
        return None

    def _new(self, cursor: Cursor, begin: int, end: int) -> Expression | None:
        text = self._text_of(cursor)
        if _PLACEMENT.match(text):
            return None
        form = NEW_ARRAY if _ARRAY.match(text) else NEW
        type_name = cursor.type.get_pointee().spelling
        owner = owners.of_value(cursor, self._above)
        return self._made(cursor, begin, end, form, "operator new", type_name=type_name, owner=owner)

    def _call(self, cursor: Cursor, begin: int, end: int) -> Expression | None:
        called = cursor.referenced
        parts = list(clang.named_children(cursor))
        if called is None:
            name = str(cursor.spelling) or (str(parts[0].spelling) if parts else "")
            owner = self._owner_of_call(cursor, parts, name)
            return self._made(
                cursor, begin, end, DEPENDENT, name, owner=owner, line=self._call_line(cursor, parts)
            )
        name = str(called.spelling)
        is_constructor = clang.is_kind(called, "CONSTRUCTOR")
        how = _how(called, parts) if is_constructor else ""
        return self._made(
            cursor,
            begin,
            end,
            CONSTRUCT if is_constructor else CALL,
            name,
            class_name=clang.class_of(called),
            type_name=str(cursor.type.spelling),
            how=how,
            arguments=len(parts) - (not is_constructor),
            is_std=clang.is_of_std(called),
            owner=self._owner_of_call(cursor, parts, name),
            line=self._call_line(cursor, parts),
        )

    @staticmethod
    def _call_line(cursor: Cursor, parts: Sequence[Cursor]) -> int:
        """The line; for a method, that of its name, which may be below its object."""
        if parts and clang.is_method_name(parts[0], str(cursor.spelling)):
            return int(parts[0].location.line)
        return int(cursor.location.line)

    def _owner_of_call(self, cursor: Cursor, parts: Sequence[Cursor], name: str) -> Owner:
        if parts and clang.is_method_name(parts[0], name) and _changes(name):
            of = next(iter(clang.named_children(parts[0])), None)
            # For a method called without an object: this.
            return owners.of_object(of) if of is not None else Owner("member", "*this")
        if parts and name in ("operator+=", "operator=", "operator<<", "operator[]"):
            return owners.of_object(parts[0])
        return owners.of_value(cursor, self._above)

    def _made(
        self,
        cursor: Cursor,
        begin: int,
        end: int,
        form: str,
        name: str,
        class_name: str = "",
        type_name: str = "",
        how: str = "",
        arguments: int = 0,
        is_std: bool = False,
        owner: Owner = Owner(TEMPORARY),  # noqa: B008
        line: int = 0,
    ) -> Expression:
        return Expression(
            form,
            name,
            class_name,
            type_name,
            how,
            arguments,
            is_std,
            self._kept(owner, form, name),
            self._loops > 0,
            line or cursor.location.line,
            cursor.location.column,
            begin,
            end,
            self._text_of(cursor),
            clang.qualified(self._function[-1]) if self._function else "",
        )

    def _kept(self, owner: Owner, form: str, called: str) -> Owner:
        if not self._function:
            return owner
        extent = self._function[-1].extent
        text = self._text[extent.start.offset : extent.end.offset].decode(errors="replace")
        is_pointer = form in (NEW, NEW_ARRAY) or _C_ALLOCATION.match(called) is not None
        return owners.in_the_end(owner, is_pointer, text)

    def _text_of(self, cursor: Cursor) -> str:
        extent = cursor.extent
        text = self._text[extent.start.offset : extent.end.offset].decode(errors="replace")
        return " ".join(text.split())[:_LONGEST_TEXT]


def _changes(name: str) -> bool:
    """Whether a method of that name may grow its object; others make something new."""
    return not name.startswith(
        ("substr", "str", "begin", "end", "to_", "get", "copy", "clone", "make", "new")
    )


def _how(constructor: Cursor, parts: Sequence[Cursor]) -> str:
    if constructor.is_copy_constructor():
        return "copy"
    if constructor.is_move_constructor():
        return "move"
    return "other" if parts else "default"
