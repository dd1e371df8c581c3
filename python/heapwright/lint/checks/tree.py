# SPDX-License-Identifier: MIT
"""What the checks ask of syntax trees."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from heapwright.lint import clang
from heapwright.lint.clang import Cursor


class Seen(NamedTuple):
    """A cursor, with what stands around it (the outermost first) and its file's text."""

    cursor: Cursor
    above: Sequence[Cursor]
    text: bytes

    @property
    def function(self) -> Cursor | None:
        """The innermost function around it."""
        return next((one for one in reversed(self.above) if clang.is_function(one)), None)

    def text_of(self, cursor: Cursor | None = None) -> str:
        """The source, in one line."""
        extent = (self.cursor if cursor is None else cursor).extent
        return " ".join(self.text[extent.start.offset : extent.end.offset].decode(errors="replace").split())


class Problem(NamedTuple):
    """kind: of checks.kinds; message, action: "" = as the kind says."""

    kind: str
    line: int
    column: int
    function: str
    expression: str
    type_name: str
    owner: str
    action: str = ""
    message: str = ""


def walk(cursor: Cursor, text: bytes, above: list[Any]) -> Iterator[Seen]:
    """All below, the outer first; templates are left out: their types are not known."""
    if clang.is_template(cursor) and clang.is_kind(cursor, "FUNCTION_TEMPLATE", "CLASS_TEMPLATE"):
        return
    yield Seen(cursor, above, text)
    above.append(cursor)
    for child in cursor.get_children():
        yield from walk(child, text, above)
    above.pop()


def method_call(cursor: Cursor) -> tuple[str, Cursor, list[Cursor]] | None:
    """Of a call of a method of something: its name, the something, the arguments."""
    if not clang.is_kind(cursor, "CALL_EXPR"):
        return None
    parts = list(clang.named_children(cursor))
    if not parts or not clang.is_method_name(parts[0], str(cursor.spelling)):
        return None
    of = next(iter(clang.named_children(parts[0])), None)
    return (str(cursor.spelling), of, parts[1:]) if of is not None else None


def std_class(cursor: Cursor) -> str:
    """The class template of std that the expression is an object of: vector, basic_string; "" = none."""
    name = str(cursor.type.get_canonical().spelling).removeprefix("const ")
    if not name.startswith("std::"):
        return ""
    name = name.removeprefix("std::").removeprefix("__cxx11::").removeprefix("__1::")
    return name.partition("<")[0] if not name.endswith("*") else ""


def problem(
    seen: Seen, kind: str, type_name: str, owner: str, action: str = "", message: str = ""
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
    )
