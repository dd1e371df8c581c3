# SPDX-License-Identifier: MIT
"""Who owns what an expression makes: a variable, a member, the caller."""

from __future__ import annotations

import re
from collections.abc import Sequence

from heapwright.lint import clang
from heapwright.lint.clang import Cursor
from heapwright.lint.expression import (
    ARGUMENT,
    ELEMENT,
    GIVEN,
    GLOBAL,
    LOCAL,
    MEMBER,
    PARAMETER,
    RETURNED,
    STATIC,
    TEMPORARY,
    THROWN,
    UNKNOWN,
    Owner,
)

# For these the result belongs to the object that they are called on.
_SAME = ("operator[]", "operator*", "operator->", "operator<<", "at", "back", "front", "get")
_POINTERS = ("unique_ptr", "shared_ptr", "__shared_ptr", "scoped_ptr", "intrusive_ptr")
_ADDS = frozenset(
    "push_back emplace_back push_front emplace_front insert emplace push try_emplace insert_or_assign".split()
)


def of_object(cursor: Cursor) -> Owner:
    """The owner for an expression that names an existing object: the growing container."""
    cursor = clang.bare(cursor)
    if clang.is_kind(cursor, "DECL_REF_EXPR"):
        return _of_declaration(cursor.referenced, str(cursor.spelling))
    if clang.is_kind(cursor, "MEMBER_REF_EXPR"):
        member = cursor.referenced
        if member is not None and clang.is_kind(member, "FIELD_DECL"):
            return _of_field(member)
        return Owner(MEMBER, str(cursor.spelling)) if cursor.spelling else Owner(UNKNOWN)
    if clang.is_kind(cursor, "ARRAY_SUBSCRIPT_EXPR", "UNARY_OPERATOR"):
        return _of_first(cursor)
    if clang.is_kind(cursor, "CALL_EXPR"):
        if cursor.spelling in _SAME:
            return _of_first(cursor)
        return Owner(UNKNOWN, f"{cursor.spelling}()") if cursor.spelling else Owner(UNKNOWN)
    return Owner(UNKNOWN)


def _of_field(field: Cursor) -> Owner:
    return Owner(MEMBER, clang.qualified(field), str(field.get_usr()))


def _of_first(cursor: Cursor) -> Owner:
    for child in clang.named_children(cursor):
        if clang.is_kind(child, "MEMBER_REF_EXPR") and child.spelling in ("at", "back", "front", "get"):
            return _of_first(child)
        return of_object(child)
    return Owner(UNKNOWN)


def _of_declaration(declaration: Cursor | None, name: str) -> Owner:
    if declaration is None:
        return Owner(UNKNOWN, name)
    if clang.is_kind(declaration, "PARM_DECL"):
        return Owner(PARAMETER, name)
    if clang.is_kind(declaration, "FIELD_DECL"):
        return _of_field(declaration)
    if clang.is_kind(declaration, "VAR_DECL"):
        return of_variable(declaration)
    return Owner(UNKNOWN, name)


def of_variable(declaration: Cursor) -> Owner:
    """The owner kind of a variable: local, static or global."""
    name = str(declaration.spelling)
    above = declaration.semantic_parent
    is_static = str(declaration.storage_class).endswith("STATIC")
    if above is not None and clang.is_function(above):
        return Owner(STATIC if is_static else LOCAL, name)
    if above is not None and clang.is_class(above):
        return Owner(GLOBAL, clang.qualified(declaration))
    if above is not None and clang.is_kind(above, "NAMESPACE", "TRANSLATION_UNIT", "LINKAGE_SPEC"):
        return Owner(GLOBAL, name)
    return Owner(LOCAL, name)


def of_value(cursor: Cursor, above: Sequence[Cursor]) -> Owner:
    """The owner of what an expression makes; above: the enclosing cursors, outermost first."""
    inner = cursor
    for outer in reversed(above):
        found = _from(outer, inner)
        if found is not None:
            return found
        inner = outer
    return Owner(TEMPORARY)


def _from(outer: Cursor, inner: Cursor) -> Owner | None:
    """None: continue outwards."""
    if clang.is_kind(outer, "VAR_DECL"):
        return of_variable(outer)
    if clang.is_kind(outer, "FIELD_DECL"):
        return _of_field(outer)
    if clang.is_kind(outer, "RETURN_STMT"):
        return Owner(RETURNED)
    if clang.is_kind(outer, "CXX_THROW_EXPR"):
        return Owner(THROWN)
    if clang.is_kind(outer, "CONSTRUCTOR", "FUNCTION_TEMPLATE"):  # a template constructor is the latter
        return _initialized_member(outer, inner)
    if clang.is_kind(outer, "BINARY_OPERATOR"):
        return _assigned(outer, inner)
    if clang.is_kind(outer, "CALL_EXPR"):
        return _argument(outer, inner)
    if clang.is_wrapper(outer) or clang.is_kind(
        outer, "INIT_LIST_EXPR", "CONDITIONAL_OPERATOR", "CXX_BIND_TEMP_EXPR"
    ):
        return None
    if clang.is_kind(outer, "MEMBER_REF_EXPR", "UNARY_OPERATOR", "DECL_STMT", "CXX_NEW_EXPR"):
        return None
    return Owner(TEMPORARY)


def _initialized_member(constructor: Cursor, inner: Cursor) -> Owner:
    """The member whose initializer it is: the preceding cursor."""
    before = None
    for child in constructor.get_children():
        if child == inner:
            break
        if clang.is_kind(child, "MEMBER_REF"):
            before = child
    if before is None or before.referenced is None:
        return Owner(TEMPORARY)
    return _of_field(before.referenced)


def _assigned(operator: Cursor, inner: Cursor) -> Owner | None:
    sides = clang.children(operator)
    if len(sides) == 2 and sides[1] == inner:
        return of_object(sides[0])
    return Owner(TEMPORARY)


def _argument(call: Cursor, inner: Cursor) -> Owner | None:
    """The owner of an argument: part of what a constructor makes, an element, or temporary."""
    called = call.referenced
    parts = list(clang.named_children(call))
    if called is not None and clang.is_kind(called, "CONSTRUCTOR"):
        is_kept = len(parts) == 1 and (
            clang.class_of(called) in _POINTERS
            or called.is_copy_constructor()
            or called.is_move_constructor()
            or called.is_converting_constructor()
        )
        return None if is_kept else Owner(ARGUMENT, clang.class_of(called))
    if not parts:
        return Owner(TEMPORARY)
    name = str(call.spelling)
    if name == "operator=" and parts[-1] == inner:
        return of_object(parts[0])
    if name in ("move", "forward"):
        return None
    if parts[0] == inner:
        return Owner(TEMPORARY)  # a method is called on it
    of_first = None
    if clang.is_method_name(parts[0], name):
        of_first = next(iter(clang.named_children(parts[0])), None)
    if name == "reset" and of_first is not None:
        return of_object(of_first)
    if name in _ADDS and of_first is not None:
        container = of_object(of_first)
        return Owner(ELEMENT, container.name)
    return Owner(ARGUMENT, name) if name else Owner(TEMPORARY)


def in_the_end(owner: Owner, is_pointer: bool, function: str) -> Owner:
    """A local returned by its function belongs to the caller; a raw pointer that the function does not free
    is passed on. function: its text."""
    if owner.kind != LOCAL:
        return owner
    name = re.escape(owner.name)
    if re.search(rf"\breturn\s+(?:std::move\()?{name}\)?\s*;", function):
        return Owner(RETURNED, owner.name)
    freed = rf"(?:\bdelete\s*(?:\[\]\s*)?|\bfree\(\s*|_ptr<[^;=()]*>\s*)\b{name}\b"
    held = rf"\b{name}\s*[=({{][^;]*_ptr<"
    moved = rf"\bmove\(\s*{name}\s*\)|\b{name}\.release\("
    if re.search(moved, function) or (is_pointer and not re.search(f"{freed}|{held}", function)):
        return Owner(GIVEN, owner.name)
    return owner
