# SPDX-License-Identifier: MIT
"""Loops that add to a vector as often as can be told before, without reserve.

Only of vectors that begin empty: locals, and members in their constructor. On a member of a function that
is called again and again reserve does harm: it grows to the exact size each time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from heapwright.lint import clang
from heapwright.lint.checks.kinds import NO_RESERVE
from heapwright.lint.checks.tree import Problem, Seen, method_call, problem, std_class
from heapwright.lint.clang import Cursor

_ADDS = ("push_back", "emplace_back")
_LEAVES = ("BREAK_STMT", "CONTINUE_STMT", "RETURN_STMT", "GOTO_STMT")
_SIZED = frozenset(
    "vector basic_string map set multimap multiset unordered_map unordered_set deque list array "
    "initializer_list basic_string_view span".split()
)
_COUNTED = re.compile(
    r"for \([\w:]+ (\w+) ?(?:= ?0|\(0\)|\{0\}); ?\1 ?(?:<|!=) ?([\w.:>()-]+); ?(?:\+\+\1|\1\+\+)\)"
)
_LEAST_COUNT = 5  # a written one below that is not worth a line


def find(seen: Seen) -> Iterator[Problem]:
    """At the loop."""
    cursor = seen.cursor
    if not clang.is_kind(cursor, "FOR_STMT", "CXX_FOR_RANGE_STMT") or not seen.above:
        return
    count = _count(seen)
    statements = _statements(cursor)
    if not count or any(_leaves(statement) for statement in statements):
        return
    for statement in statements:
        call = method_call(statement)
        if call is not None and call[0] in _ADDS and std_class(call[1]) == "vector":
            name = seen.text_of(call[1])
            if _begins_empty(seen, call[1], name):
                action = f"{name}.reserve({count}); before the loop"
                yield problem(seen, NO_RESERVE, str(call[1].type.spelling), name, action)
                return


def _count(seen: Seen) -> str:
    """The loop's count in words of the source; "" = it cannot be told."""
    if clang.is_kind(seen.cursor, "CXX_FOR_RANGE_STMT"):
        parts = clang.children(seen.cursor)
        ranges = [one for one in parts[:-1] if not clang.is_kind(one, "VAR_DECL")]
        if len(ranges) != 1 or std_class(ranges[0]) not in _SIZED:
            return ""
        name = seen.text_of(ranges[0])
        return f"{name}.size()" if re.fullmatch(r"[\w.>()\[\]-]+", name) else ""
    found = _COUNTED.match(seen.text_of())
    if found is None or (found[2].isdecimal() and int(found[2]) < _LEAST_COUNT):
        return ""
    return found[2]


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
    return is_outermost and re.search(rf"\b{re.escape(name)}\b", text) is None


def _is_new_local(seen: Seen, before: Sequence[Cursor], of: Cursor, name: str) -> bool:
    """Made in the same block, empty, and not touched between."""
    declared = of.referenced
    for statement in reversed(before):
        inside = clang.children(statement) if clang.is_kind(statement, "DECL_STMT") else []
        if declared in inside:
            text = seen.text_of(declared)
            return re.search(rf"\b{re.escape(name)} ?(?:\{{\}})?$", text) is not None
        if re.search(rf"\b{re.escape(name)}\b", seen.text_of(statement)):
            return False
    return False
