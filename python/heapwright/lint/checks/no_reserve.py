# SPDX-License-Identifier: MIT
"""Loops that append a known number of times to a vector, without reserve.

Only for vectors that start empty: locals, and members in their constructor. For a member filled by
repeated calls reserve does harm: it grows to the exact size each time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from heapwright.lint import clang
from heapwright.lint.checks.bound import Bound, of_loop
from heapwright.lint.checks.fresh import begins_empty, may_change_this
from heapwright.lint.checks.kinds import NO_RESERVE
from heapwright.lint.checks.tree import Problem, Seen, break_at, method_call, problem, replacing, std_class
from heapwright.lint.checks.uses import ADDS, has_alias, is_calm, mentions, only_read, reads
from heapwright.lint.clang import Cursor
from heapwright.lint.finding import Fix

WORDS = (re.compile(rb"\bfor\b"), re.compile(rb"\b(?:push|emplace)_back\b"))
_LEAVES = (
    "BREAK_STMT CONTINUE_STMT RETURN_STMT GOTO_STMT INDIRECT_GOTO_STMT CXX_THROW_EXPR LABEL_STMT"
).split()
_SUSPENDS = re.compile(r"\bco_(?:await|yield|return)\b")
_COMMENT = re.compile(rb"/\*.*?\*/|//[^\n]*", re.DOTALL)


def find(seen: Seen) -> Iterator[Problem]:
    """At the loop."""
    cursor = seen.cursor
    if not clang.is_kind(cursor, "FOR_STMT", "CXX_FOR_RANGE_STMT") or not seen.above:
        return
    body = clang.children(cursor)[-1]
    statements = _statements(body)
    calls = [call for call in map(method_call, statements) if call is not None and call[0] in ADDS]
    vectors = [of for _, of, _ in calls if std_class(of) == "vector" and of.referenced is not None]
    if not vectors or _SUSPENDS.search(seen.text_of()) or any(map(_leaves, statements)):
        return
    bound = of_loop(seen)
    if bound is None:
        return
    for of in vectors:
        each = sum(clang.is_name_of(call[1], of.referenced) for call in calls)
        if _is_filled(seen, of, body, each) and _is_known(seen, bound, body, of) and begins_empty(seen, of):
            name = str(of.spelling)
            action, fix = _reserve(seen, name, bound, each)
            yield problem(seen, NO_RESERVE, str(of.type.spelling), name, action, fix=fix)
            return


def _is_filled(seen: Seen, of: Cursor, body: Cursor, each: int) -> bool:
    """Whether the statements append to it, and nothing else appends, removes elements, or passes it on."""
    if seen.text_of(of) != of.spelling:
        return False  # a macro
    is_member = not clang.is_kind(of, "DECL_REF_EXPR")
    changes = [path for path in mentions(body, of.referenced) if not reads(path)]
    added = [path for path in changes if len(path) > 1 and path[-2].spelling in ADDS]
    return len(changes) == len(added) == each and not (is_member and may_change_this(body))


def _is_known(seen: Seen, bound: Bound, body: Cursor, of: Cursor) -> bool:
    """Whether the body does not change the loop's count."""
    if not all(only_read(body, one) for one in bound.of):
        return False
    if bound.is_fixed:
        return True
    if not bound.is_own:
        return is_calm(body, of.referenced)
    function = seen.function
    return function is not None and not any(has_alias(function, one, seen.cursor) for one in bound.of)


def _reserve(seen: Seen, name: str, bound: Bound, each: int) -> tuple[str, Fix | None]:
    """each: elements appended per iteration."""
    if not bound.is_steady:
        return f"keep {bound.text_of} in a variable, and {name}.reserve its count before the loop", None
    text = f"{bound.text} > 0 ? {bound.text} : 0" if bound.is_signed else bound.text
    call = f"{name}.reserve({f'{each} * ({text})' if each > 1 else text});"
    begin = seen.cursor.extent.start.offset
    head = seen.text[begin : clang.children(seen.cursor)[-1].extent.start.offset].rstrip()
    # A product with a signed count may overflow.
    is_safe = head.startswith(b"for") and _stands_alone(seen) and not (bound.is_signed and each > 1)
    by = f"{call}{break_at(seen.text, begin)}{head.decode(errors='replace')}"
    fix = replacing(seen.text, begin, begin + len(head), by) if is_safe else None
    return f"{call} before the loop", fix


def _stands_alone(seen: Seen) -> bool:
    """Whether nothing between the previous statement and the loop belongs to the loop: a pragma, another
    preprocessor branch, a macro."""
    around, begin = seen.above[-1], seen.cursor.extent.start.offset
    ends = [one.extent.end.offset for one in around.get_children() if one.extent.end.offset <= begin]
    between = seen.text[max(ends, default=around.extent.start.offset + 1) : begin]
    return not _COMMENT.sub(b"", between).strip(b"; \t\r\n")


def _statements(body: Cursor) -> list[Cursor]:
    found = clang.children(body) if clang.is_kind(body, "COMPOUND_STMT") else [body]
    return [_bare_statement(one) for one in found]


def _bare_statement(statement: Cursor) -> Cursor:
    """The call without wrapping temporaries."""
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
