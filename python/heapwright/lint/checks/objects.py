# SPDX-License-Identifier: MIT
"""Properties of an object: whether its name is unambiguous, and whether its type can be moved."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from heapwright.lint import clang
from heapwright.lint.clang import Cursor

# From std: these are movable whatever they hold, those if their contents are.
_MOVE = frozenset(
    "basic_string vector deque list forward_list map multimap set multiset unordered_map unordered_multimap "
    "unordered_set unordered_multiset unique_ptr shared_ptr weak_ptr function basic_string_view span".split()
)
_MOVE_AS_THEIRS = ("array", "pair", "tuple", "optional")


def is_fixed(cursor: Cursor) -> bool:
    """Whether it always names the same object: a variable, a member of one or of this. Not through pointers,
    indexes, calls, or members that are references."""
    if clang.is_kind(cursor, "UNEXPOSED_EXPR", "PAREN_EXPR", "MEMBER_REF_EXPR"):
        inner = list(clang.named_children(cursor))
        if len(inner) > 1:
            return False
        if clang.is_kind(cursor, "MEMBER_REF_EXPR") and not _is_direct_member(cursor, inner):
            return False
        return not inner or clang.is_kind(inner[0], "CXX_THIS_EXPR") or is_fixed(inner[0])
    named = cursor.referenced if clang.is_kind(cursor, "DECL_REF_EXPR") else None
    return named is not None and not clang.is_function(named)


def _is_direct_member(member: Cursor, of: list[Cursor]) -> bool:
    field = member.referenced
    if field is None or not clang.is_kind(field, "FIELD_DECL") or is_reference(field.type):
        return False
    return not of or clang.is_kind(of[0], "CXX_THIS_EXPR") or not is_pointer(of[0].type)


def is_reference(of: Any) -> bool:
    return str(of.get_canonical().spelling).endswith("&")


def is_pointer(of: Any) -> bool:
    return of.get_canonical().get_pointee().spelling != "" and not is_reference(of)


def bases(declared: Cursor) -> list[Cursor]:
    """Template arguments by name, without nested ones."""
    return [one for one in declared.get_children() if clang.is_kind(one, "CXX_BASE_SPECIFIER")]


def lineage(declared: Cursor) -> Iterator[Cursor]:
    """The class and all its bases, each once: a template may inherit from itself. For a class made from a
    template, the template; a base that depends on its parameters is not a class."""
    waiting, known = [declared], set()
    while waiting:
        one = clang.shown_class(waiting.pop())
        if one.hash not in known:
            known.add(one.hash)
            yield one
            waiting += [base.type.get_canonical().get_declaration() for base in bases(one)]


def moves(of: Any) -> bool:
    """Whether a value of this type can be moved or copied; False if not known."""
    plain = of.get_canonical()
    element = plain.get_array_element_type()
    if element.spelling:
        return moves(element)
    declared = plain.get_declaration()
    if not clang.is_class(declared):
        return True
    if clang.is_of_std(declared):
        inner = [plain.get_template_argument_type(at) for at in range(plain.get_num_template_arguments())]
        held = [one for one in inner if one.spelling]
        name = str(declared.spelling)
        return name in _MOVE or (name in _MOVE_AS_THEIRS and all(map(moves, held)))
    parts = clang.children(declared)
    own = [one for one in parts if clang.is_kind(one, "CONSTRUCTOR")]
    if any(one.is_move_constructor() and is_usable(one) for one in own):
        return True
    if any((one.is_copy_constructor() or one.is_move_constructor()) and not is_usable(one) for one in own):
        return False
    held = [one.type for one in parts if clang.is_kind(one, "FIELD_DECL", "CXX_BASE_SPECIFIER")]
    # For a class template's class clang shows nothing.
    return all(map(moves, held)) and (bool(parts) or plain.get_num_template_arguments() <= 0)


def is_usable(method: Cursor) -> bool:
    """Whether it is accessible from everywhere."""
    return is_public(method) and not method.is_deleted_method()


def is_public(declared: Cursor) -> bool:
    return str(declared.access_specifier).endswith(("PUBLIC", "INVALID", "NONE"))
