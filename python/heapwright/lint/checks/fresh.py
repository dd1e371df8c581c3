# SPDX-License-Identifier: MIT
"""Whether a vector is empty at a loop's begin, each time."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from heapwright.lint import clang
from heapwright.lint.checks.tree import Seen
from heapwright.lint.checks.uses import is_own_variable, mentions
from heapwright.lint.clang import Cursor


def begins_empty(seen: Seen, of: Cursor) -> bool:
    """seen: the loop. of: the expression that names the vector."""
    around = seen.above[-1]
    if not clang.is_kind(around, "COMPOUND_STMT"):
        return False
    begin = seen.cursor.extent.start.offset
    before = [one for one in clang.children(around) if one.extent.end.offset <= begin]
    if clang.is_kind(of, "DECL_REF_EXPR"):
        return _is_new_local(seen, before, of.referenced)
    return _is_new_member(seen, before, of)


def _is_new_local(seen: Seen, before: Sequence[Cursor], declared: Cursor) -> bool:
    """Made empty in the same block, and untouched until the loop."""
    if not is_own_variable(declared):
        return False
    for statement in reversed(before):
        others = clang.children(statement) if clang.is_kind(statement, "DECL_STMT") else [statement]
        is_made_here = declared in others
        if _is_entered(statement) or any(_touches(one, declared) for one in others if one != declared):
            return False
        if is_made_here:
            return _is_made_empty(seen, declared)
    return False


def _is_made_empty(seen: Seen, declared: Cursor) -> bool:
    """Checks both clang's tree and the text, as text from macros is not known."""
    made = [one for one in declared.get_children() if clang.is_expression(one)]
    has_no_argument = len(made) == 1 and not list(clang.named_children(made[0]))
    spelled = rf"[^=&]*\b{re.escape(declared.spelling)} ?(?:\{{\}})?"
    return has_no_argument and re.fullmatch(spelled, seen.text_of(declared)) is not None


def _touches(cursor: Cursor, declared: Cursor) -> bool:
    return next(iter(mentions(cursor, declared)), None) is not None


def _is_entered(statement: Cursor) -> bool:
    """Whether a goto may jump back to it."""
    return any(clang.is_kind(one, "LABEL_STMT") for one in statement.walk_preorder())


def _is_new_member(seen: Seen, before: Sequence[Cursor], of: Cursor) -> bool:
    """In its class's constructor, not mentioned before, and with no earlier call that may fill it."""
    function, member = seen.function, of.referenced
    is_own = clang.is_kind(of, "MEMBER_REF_EXPR") and not list(clang.named_children(of))
    if function is None or not is_own or not clang.is_kind(function, "CONSTRUCTOR"):
        return False
    if not clang.is_kind(member, "FIELD_DECL") or member.semantic_parent != function.semantic_parent:
        return False
    is_outermost = len(seen.above) > 1 and seen.above[-2] == function
    has_initializer = any(clang.is_expression(one) for one in member.get_children())
    if not is_outermost or has_initializer or any(map(_is_entered, before)):
        return False
    earlier = [*_initializers(function), *before]
    if any(_touches(one, member) or may_change_this(one) for one in earlier):
        return False
    fields = (one for one in function.semantic_parent.get_children() if clang.is_kind(one, "FIELD_DECL"))
    return not any(map(may_change_this, fields)) and not _is_delegating(function)


def _initializers(constructor: Cursor) -> Iterator[Cursor]:
    return (one for one in constructor.get_children() if not clang.is_kind(one, "COMPOUND_STMT"))


def _is_delegating(constructor: Cursor) -> bool:
    """Whether it delegates to another constructor first."""
    named = (one for one in _initializers(constructor) if clang.is_kind(one, "TYPE_REF"))
    return any(clang.is_name_of(one, constructor.semantic_parent) for one in named)


def may_change_this(cursor: Cursor) -> bool:
    """Whether the object is passed on, or one of its methods is called that may change it."""
    if clang.is_kind(cursor, "MEMBER_REF_EXPR"):
        of, named = list(clang.named_children(cursor)), cursor.referenced
        is_of_this = not of or clang.is_kind(of[0], "CXX_THIS_EXPR")
        if is_of_this:
            is_field = named is not None and clang.is_kind(named, "FIELD_DECL", "VAR_DECL")
            return not is_field and not (named is not None and _leaves_this(named))
    if clang.is_kind(cursor, "CXX_THIS_EXPR"):
        return True
    return any(map(may_change_this, cursor.get_children()))


def _leaves_this(method: Cursor) -> bool:
    return bool(method.is_const_method() or method.is_static_method())
