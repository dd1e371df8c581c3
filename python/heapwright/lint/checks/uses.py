# SPDX-License-Identifier: MIT
"""How variables and members are used: whether part of a function only reads them.

libclang wraps reads in an implicit conversion, to the value or to const. Bare mentions are assigned,
referenced or passed on, and so may change.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from heapwright.lint import clang
from heapwright.lint.checks.objects import is_pointer, is_reference
from heapwright.lint.clang import Cursor

ADDS = ("push_back", "emplace_back")
_LOOKS_UP = frozenset("operator[] at begin end rbegin rend front back data find".split())
# Functions of std that take references and change nothing.
_READS = frozenset(
    "push_back emplace_back forward make_pair make_tuple make_unique make_shared min max to_string".split()
)
_CHANGES = ("MEMBER_REF_EXPR", "BINARY_OPERATOR", "COMPOUND_ASSIGNMENT_OPERATOR", "UNARY_OPERATOR")
Path = Sequence[Cursor]  # the cursors down to a mention, which is the last


def mentions(cursor: Cursor, declared: Cursor, above: tuple[Cursor, ...] = ()) -> Iterator[Path]:
    """All mentions of this declaration below the cursor."""
    path = (*above, cursor)
    is_name = clang.is_kind(cursor, "DECL_REF_EXPR", "MEMBER_REF_EXPR", "MEMBER_REF")
    if is_name and clang.is_name_of(cursor, declared):
        yield path
    for child in cursor.get_children():
        yield from mentions(child, declared, path)


def reads(path: Path) -> bool:
    """Whether the mention does not change it."""
    named, around = path[-1], _around(path)
    if named.type.is_const_qualified() or around is None:
        return True
    if clang.is_kind(around, "UNEXPOSED_EXPR"):
        return around.type.is_const_qualified() or clang.is_plain(named.type)
    if clang.is_kind(around, "MEMBER_REF_EXPR"):
        return _member_reads(around)
    if clang.is_kind(around, "CALL_EXPR"):
        called = around.referenced
        if called is None or not clang.is_of_std(called):
            return False
        return called.spelling in (_READS if clang.children(around)[0] != named else _LOOKS_UP)
    return clang.is_kind(around, "CXX_FOR_RANGE_STMT")


def _around(path: Path) -> Cursor | None:
    return next((one for one in reversed(path[:-1]) if not clang.is_kind(one, "PAREN_EXPR")), None)


def _member_reads(member: Cursor) -> bool:
    """Whether it is the object of a member access to another member, which is checked separately."""
    named = member.referenced
    if named is None or clang.is_kind(named, "FIELD_DECL"):
        return named is not None
    return named.is_const_method() or (clang.is_of_std(named) and named.spelling in _LOOKS_UP)


def only_read(cursor: Cursor, declared: Cursor) -> bool:
    return all(map(reads, mentions(cursor, declared)))


def has_alias(function: Cursor, declared: Cursor, loop: Cursor) -> bool:
    """Whether something outside the loop may change the variable within it: a reference, a pointer, a
    lambda."""
    return any(_is_kept(path, loop) for path in mentions(function, declared) if not reads(path))


def _is_kept(path: Path, loop: Cursor) -> bool:
    if loop in path:
        return False
    place = loop.extent.start.offset
    closures = (one for one in path if clang.is_kind(one, "LAMBDA_EXPR"))
    if any(not one.extent.start.offset <= place < one.extent.end.offset for one in closures):
        return True
    outer = [one for one in reversed(path[:-1]) if not clang.is_kind(one, "PAREN_EXPR", "UNEXPOSED_EXPR")]
    is_address = clang.is_kind(outer[0], "UNARY_OPERATOR") and is_pointer(outer[0].type)
    user = outer[is_address]
    if clang.is_kind(user, "CALL_EXPR"):
        return user.referenced is None or clang.is_kind(user.referenced, "CONSTRUCTOR")
    return is_address or not clang.is_kind(user, *_CHANGES)


def is_calm(body: Cursor, target: Cursor) -> bool:
    """Whether the body changes nothing outside it, except by appending to the target."""
    return all(_is_calm(one, target) for one in body.walk_preorder())


def _is_calm(part: Cursor, target: Cursor) -> bool:
    if clang.is_kind(part, "CALL_EXPR"):
        return _is_harmless(part, target)
    if clang.is_kind(part, "BINARY_OPERATOR", "COMPOUND_ASSIGNMENT_OPERATOR", "UNARY_OPERATOR"):
        first = next(iter(clang.named_children(part)), None)
        while first is not None and clang.is_kind(first, "PAREN_EXPR"):
            first = next(iter(clang.named_children(first)), None)
        return first is None or not _is_place(first) or _is_own_local(first)
    return True


def _is_place(cursor: Cursor) -> bool:
    """Whether it may be assigned to, as nothing reads it."""
    if clang.is_kind(cursor, "CALL_EXPR"):
        return is_reference(cursor.type) or is_reference(
            getattr(cursor.referenced, "result_type", cursor.type)
        )
    return clang.is_kind(cursor, "DECL_REF_EXPR", "MEMBER_REF_EXPR", "ARRAY_SUBSCRIPT_EXPR", "UNARY_OPERATOR")


def _is_own_local(cursor: Cursor) -> bool:
    named = cursor.referenced if clang.is_kind(cursor, "DECL_REF_EXPR") else None
    return named is not None and (clang.is_kind(named, "ENUM_CONSTANT_DECL") or is_own_variable(named))


def is_own_variable(named: Cursor) -> bool:
    """Whether it is local to a function, and new in each call."""
    if not clang.is_kind(named, "VAR_DECL", "PARM_DECL") or is_reference(named.type):
        return False
    above = named.semantic_parent
    if clang.is_kind(named, "PARM_DECL"):
        return True
    is_automatic = str(named.storage_class).endswith("NONE") and str(named.tls_kind).endswith("NONE")
    return is_automatic and above is not None and clang.is_function(above)


def _is_harmless(call: Cursor, target: Cursor) -> bool:
    called = call.referenced
    if called is None or called.spelling == "operator()":
        return False
    if clang.is_kind(called, "CONSTRUCTOR") or called.is_const_method():
        return True
    if not clang.is_of_std(called):
        return False
    if clang.is_kind(called, "CXX_METHOD"):
        adds_to = [one for one in mentions(call, target) if clang.is_kind(_around(one), "MEMBER_REF_EXPR")]
        return called.spelling in _LOOKS_UP or (called.spelling in ADDS and bool(adds_to))
    return called.spelling in (*_READS, "move") or str(called.spelling).startswith("operator")
