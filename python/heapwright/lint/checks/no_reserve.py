# SPDX-License-Identifier: MIT
"""Loops that add to a vector as often as can be told before, without reserve.

Only of vectors that begin empty: locals, and members in their constructor. On a member of a function that
is called again and again reserve does harm: it grows to the exact size each time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from heapwright.lint import clang
from heapwright.lint.checks.kinds import NO_RESERVE
from heapwright.lint.checks.tree import Problem, Seen, indent_at, method_call, problem, replacing, std_class
from heapwright.lint.clang import Cursor
from heapwright.lint.finding import Fix

WORDS = (re.compile(rb"\bfor\b"), re.compile(rb"\b(?:push|emplace)_back\b"))
_ADDS = ("push_back", "emplace_back")
_LEAVES = ("BREAK_STMT", "CONTINUE_STMT", "RETURN_STMT", "GOTO_STMT")
_SIZED = frozenset(
    "vector basic_string map set multimap multiset unordered_map unordered_set deque list array "
    "initializer_list basic_string_view span".split()
)
_INDEXED = ("vector", "array", "deque")
_COUNTED = re.compile(
    r"for \([\w:]+ (\w+) ?(?:= ?0|\(0\)|\{0\}); ?\1 ?(?:<|!=) ?([\w.:>()-]+); ?(?:\+\+\1|\1\+\+)\)"
)
_RANGE = re.compile(r"[\w.:>()\[\]-]+")
_LEAST_COUNT = 5  # a written one below that is not worth a line


class _Count(NamedTuple):
    """text, of: the number, and what is read for it, in words of the source. is_steady: reading it before the
    loop costs and changes nothing. is_signed: it may be below 0."""

    text: str
    of: str
    is_steady: bool
    is_signed: bool = False


def find(seen: Seen) -> Iterator[Problem]:
    """At the loop."""
    cursor = seen.cursor
    if not clang.is_kind(cursor, "FOR_STMT", "CXX_FOR_RANGE_STMT") or not seen.above:
        return
    statements = _statements(cursor)
    calls = [call for call in map(method_call, statements) if call is not None and call[0] in _ADDS]
    if not any(std_class(call[1]) == "vector" for call in calls):
        return
    count = _count(seen)
    if count is None or any(_leaves(statement) for statement in statements):
        return
    for _, of, _ in calls:
        name = seen.text_of(of)
        if std_class(of) == "vector" and _only_grows(seen, name) and _begins_empty(seen, of, name):
            each = sum(seen.text_of(call[1]) == name for call in calls)
            action, fix = _reserve(seen, name, count, each)
            yield problem(seen, NO_RESERVE, str(of.type.spelling), name, action, fix=fix)
            return


def _reserve(seen: Seen, name: str, count: _Count, each: int) -> tuple[str, Fix | None]:
    """each: how many elements a round adds."""
    if not count.is_steady:
        return f"keep {count.of} in a variable, and {name}.reserve its count before the loop", None
    text = f"{count.text} > 0 ? {count.text} : 0" if count.is_signed else count.text
    call = f"{name}.reserve({f'{each} * ({text})' if each > 1 else text});"
    begin = seen.cursor.extent.start.offset
    head = seen.text[begin : clang.children(seen.cursor)[-1].extent.start.offset].rstrip()
    fix = None
    if head.startswith(b"for"):
        by = f"{call}\n{indent_at(seen.text, begin)}{head.decode(errors='replace')}"
        fix = replacing(seen.text, begin, begin + len(head), by)
    return f"{call} before the loop", fix


def _count(seen: Seen) -> _Count | None:
    """The loop's count; None = it cannot be told."""
    if clang.is_kind(seen.cursor, "CXX_FOR_RANGE_STMT"):
        return _count_of_range(seen)
    found = _COUNTED.match(seen.text_of())
    if found is None or (found[2].isdecimal() and int(found[2]) < _LEAST_COUNT):
        return None
    bound = _bound(seen.cursor)
    if bound is None or re.search(rf"\b{found[1]}\b", found[2]):
        return None
    spelled = str(bound.type.get_canonical().spelling).removeprefix("const ")
    is_literal = clang.is_kind(bound, "INTEGER_LITERAL")
    is_signed = not is_literal and not spelled.startswith("unsigned")
    return _Count(found[2], found[2], _is_steady(bound), is_signed)


def _bound(loop: Cursor) -> Cursor | None:
    """What the counter is compared with."""
    for child in loop.get_children():
        if clang.is_kind(child, "BINARY_OPERATOR"):
            parts = clang.children(child)
            return clang.bare(parts[-1]) if parts else None
    return None


def _count_of_range(seen: Seen) -> _Count | None:
    parts = clang.children(seen.cursor)
    ranges = [one for one in parts[:-1] if one.kind.is_expression()]
    if len(ranges) != 1 or std_class(ranges[0]) not in _SIZED or _is_small(ranges[0]):
        return None
    name = seen.text_of(ranges[0])
    return _Count(f"{name}.size()", name, _is_steady(ranges[0])) if _RANGE.fullmatch(name) else None


def _is_small(of: Cursor) -> bool:
    found = re.search(r"\barray<.*, (\d+)>$", str(of.type.get_canonical().spelling))
    return found is not None and int(found[1]) < _LEAST_COUNT


def _is_steady(cursor: Cursor) -> bool:
    """Whether it calls nothing but methods that change nothing and make nothing."""
    for one in cursor.walk_preorder():
        if not clang.is_kind(one, "CALL_EXPR"):
            continue
        called = one.referenced
        if called is None or not clang.is_kind(called, "CXX_METHOD", "CONVERSION_FUNCTION"):
            return False
        is_lookup = called.spelling == "operator[]" and clang.class_of(called) in _INDEXED
        if not (called.is_const_method() or is_lookup) or not clang.is_plain(called.result_type):
            return False
    return True


def _statements(loop: Cursor) -> list[Cursor]:
    body = clang.children(loop)[-1]
    found = clang.children(body) if clang.is_kind(body, "COMPOUND_STMT") else [body]
    return [_bare_statement(one) for one in found]


def _bare_statement(statement: Cursor) -> Cursor:
    """Temporaries wrap the call."""
    while clang.is_wrapper(statement):
        inner = clang.children(statement)
        if len(inner) != 1:
            break
        statement = inner[0]
    return statement


def _leaves(cursor: Cursor) -> bool:
    if clang.is_kind(cursor, *_LEAVES):
        return True
    return not clang.is_kind(cursor, "LAMBDA_EXPR") and any(map(_leaves, cursor.get_children()))


def _only_grows(seen: Seen, name: str) -> bool:
    """Whether nothing in the loop takes elements out or gives the vector away."""
    own = re.escape(name)
    taken = rf"\b{own} ?(?:\. ?(?:clear|erase|pop_back|swap|resize|assign)\b|= ?[^=])|\bmove\( ?{own} ?\)"
    return re.search(taken, seen.text_of()) is None


def _begins_empty(seen: Seen, of: Cursor, name: str) -> bool:
    around = seen.above[-1]
    if not clang.is_kind(around, "COMPOUND_STMT"):
        return False
    before = [
        one for one in clang.children(around) if one.extent.end.offset <= seen.cursor.extent.start.offset
    ]
    if clang.is_kind(of, "DECL_REF_EXPR"):
        return _is_new_local(seen, before, of, name)
    # A member, in its constructor, with nothing said of it before.
    function = seen.function
    is_own = clang.is_kind(of, "MEMBER_REF_EXPR") and not list(clang.named_children(of))
    if function is None or not is_own or not clang.is_kind(function, "CONSTRUCTOR"):
        return False
    is_outermost = len(seen.above) > 1 and seen.above[-2] == function
    begin, end = function.extent.start.offset, seen.cursor.extent.start.offset
    text = seen.text[begin:end].decode(errors="replace")
    has_initializer = any(one.kind.is_expression() for one in of.referenced.get_children())
    return is_outermost and not has_initializer and re.search(rf"\b{re.escape(name)}\b", text) is None


def _is_new_local(seen: Seen, before: Sequence[Cursor], of: Cursor, name: str) -> bool:
    """Made in the same block, empty, and not touched between."""
    declared = of.referenced
    for statement in reversed(before):
        inside = clang.children(statement) if clang.is_kind(statement, "DECL_STMT") else []
        if declared in inside:
            # A reference to another vector ends in its name: auto& files = input.files.
            return (
                re.fullmatch(rf"[^=&]*\b{re.escape(name)} ?(?:\{{\}})?", seen.text_of(declared)) is not None
            )
        if re.search(rf"\b{re.escape(name)}\b", seen.text_of(statement)):
            return False
    return False
