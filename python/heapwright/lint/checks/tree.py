# SPDX-License-Identifier: MIT
"""Queries on syntax trees for the checks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from heapwright.lint import clang
from heapwright.lint.clang import Cursor
from heapwright.lint.finding import Fix

_TEMPLATES = ("FUNCTION_TEMPLATE", "CLASS_TEMPLATE", "CLASS_TEMPLATE_PARTIAL_SPECIALIZATION")

_STATEMENTS = (
    "COMPOUND_STMT IF_STMT FOR_STMT WHILE_STMT DO_STMT CXX_FOR_RANGE_STMT CASE_STMT DEFAULT_STMT LABEL_STMT"
).split()


class Seen(NamedTuple):
    """A cursor, with the cursors around it (outermost first) and its file's text."""

    cursor: Cursor
    above: Sequence[Cursor]
    text: bytes

    @property
    def function(self) -> Cursor | None:
        """The innermost function around it."""
        return next((one for one in reversed(self.above) if clang.is_function(one)), None)

    def text_of(self, cursor: Cursor | None = None) -> str:
        """The source on one line."""
        extent = (self.cursor if cursor is None else cursor).extent
        return " ".join(self.text[extent.start.offset : extent.end.offset].decode(errors="replace").split())


class Problem(NamedTuple):
    """kind: from checks.kinds; message, action: "" = those of the kind. fix: None if no edit is known."""

    kind: str
    line: int
    column: int
    function: str
    expression: str
    type_name: str
    owner: str
    action: str = ""
    message: str = ""
    last_line: int = 0
    fix: Fix | None = None


def walk(cursor: Cursor, text: bytes, may: Callable[[bytes], bool], above: list[Any]) -> Iterator[Seen]:
    """All cursors below, outermost first, of declarations whose text may have findings. Without templates,
    whose types are not known, and files included within a namespace, whose text is separate."""
    if clang.is_kind(cursor, *_TEMPLATES):
        return
    if not above or clang.is_scope(above[-1]):
        # Walking a tree in Python takes longer than building it in clang.
        extent = cursor.extent
        if not may(text[extent.start.offset : extent.end.offset]):
            return
        if above and not _is_in_one_file(cursor, above[-1]):
            return
    yield Seen(cursor, above, text)
    above.append(cursor)
    for child in cursor.get_children():
        yield from walk(child, text, may, above)
    above.pop()


def _is_in_one_file(cursor: Cursor, other: Cursor) -> bool:
    own, its = cursor.location.file, other.location.file
    return own is not None and its is not None and own.name == its.name


def method_call(cursor: Cursor) -> tuple[str, Cursor, list[Cursor]] | None:
    """Of a method call: the name, the object, the arguments."""
    if not clang.is_kind(cursor, "CALL_EXPR"):
        return None
    parts = list(clang.named_children(cursor))
    if not parts or not clang.is_method_name(parts[0], str(cursor.spelling)):
        return None
    of = next(iter(clang.named_children(parts[0])), None)
    return (str(cursor.spelling), of, parts[1:]) if of is not None else None


def std_class(cursor: Cursor) -> str:
    """The std class template of the expression's type: vector, basic_string; "" = none."""
    name = str(cursor.type.get_canonical().spelling).removeprefix("const ")
    if not name.startswith("std::"):
        return ""
    name = name.removeprefix("std::").removeprefix("__cxx11::").removeprefix("__1::")
    return name.partition("<")[0] if not name.endswith("*") else ""


def problem(
    seen: Seen,
    kind: str,
    type_name: str,
    owner: str,
    action: str = "",
    message: str = "",
    fix: Fix | None = None,
) -> Problem:
    """At the cursor."""
    function = seen.function
    return Problem(
        kind,
        seen.cursor.location.line,
        seen.cursor.location.column,
        clang.qualified(function) if function is not None else "",
        seen.text_of()[:200],
        type_name,
        owner,
        action,
        message,
        seen.cursor.extent.end.line,
        fix,
    )


def replacing(text: bytes, begin: int, end: int, by: str) -> Fix | None:
    """The edit that replaces these bytes of a file; None if its lines are not ASCII, or contain preprocessor
    branches."""
    first = text.rfind(b"\n", 0, begin) + 1
    last = text.rfind(b"\n", 0, end) + 1
    rest = text.find(b"\n", end)
    if not text[first : rest if rest >= 0 else len(text)].isascii():
        return None
    if re.search(rb"^[ \t]*#", text[begin:end], re.MULTILINE):
        return None
    if b"\r\n" in text:
        by = by.replace("\n", "\r\n")
    return Fix(
        text.count(b"\n", 0, begin) + 1,
        begin - first + 1,
        text.count(b"\n", 0, end) + 1,
        end - last + 1,
        text[begin:end].decode(),
        by,
    )


def break_at(text: bytes, offset: int) -> str:
    """The separator of two statements, the first of which begins here: a line break if it is on a separate
    line."""
    line = text[text.rfind(b"\n", 0, offset) + 1 : offset]
    return f"\n{line.decode()}" if not line.strip() else " "


def is_discarded(seen: Seen) -> bool:
    """Whether it is a statement whose value is unused: no cast, no return."""
    around = [one for one in seen.above if not clang.is_kind(one, "UNEXPOSED_EXPR", "PAREN_EXPR")]
    return clang.is_kind(around[-1], *_STATEMENTS) and not clang.is_kind(around[-2], "StmtExpr")


def is_statement(seen: Seen) -> bool:
    """Whether it is a separate statement in braces, so that another one may be added. Not if the value of the
    last one is that of the braces."""
    around = [one for one in seen.above if not clang.is_wrapper(one)]
    return clang.is_kind(around[-1], "COMPOUND_STMT") and not clang.is_kind(around[-2], "StmtExpr")


def parent(seen: Seen) -> Cursor:
    """The enclosing cursor, without mere wrappers."""
    return next(one for one in reversed(seen.above) if not clang.is_wrapper(one))
