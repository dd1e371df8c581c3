# SPDX-License-Identifier: MIT
"""Whether make_shared<T>(…) makes the same as new T(…).

make_shared takes the arguments by reference and calls the constructor elsewhere. There a 0 is not a pointer,
a braced list has no type, bit-fields cannot be referenced, and only public members are accessible.
"""

from __future__ import annotations

import re
from typing import Any

from heapwright.lint import clang
from heapwright.lint.checks.objects import bases, is_public, is_reference, lineage, moves
from heapwright.lint.checks.tree import Seen
from heapwright.lint.clang import Cursor

_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_LIST_OR_ZERO = re.compile(r"(?:^|,)\s*(?:\{|(?:0|NULL)\s*(?:,|$))")
_WRITTEN_NUMBER = re.compile(r"\d*[1-9][\w.'+-]*")
# What a single word may be; anything else comes from a macro.
_WORDS = (
    "DECL_REF_EXPR MEMBER_REF_EXPR CXX_THIS_EXPR CXX_NULL_PTR_LITERAL_EXPR CXX_BOOL_LITERAL_EXPR "
    "INTEGER_LITERAL FLOATING_LITERAL CHARACTER_LITERAL STRING_LITERAL"
).split()


def makes_the_same(seen: Seen, made: Cursor, constructor: Cursor | None, arguments: str | None) -> bool:
    """arguments: in the parentheses, "" for braces; None = no parentheses."""
    of = made.type.get_pointee()
    given = [one for one in clang.named_children(constructor or made) if seen.text_of(one)]
    is_class = clang.is_class(of.get_canonical().get_declaration())
    if arguments is None:
        # Without parentheses new leaves numbers uninitialized, make_shared sets them to 0.
        return constructor is not None and not of.is_pod()
    if not arguments.strip():
        own = seen.text_of(made)
        return not given and (constructor is not None or not is_class or not own.endswith("}"))
    if _LIST_OR_ZERO.search(_COMMENT.sub(" ", arguments)):
        return False
    if constructor is None and is_class:
        return len(given) == 1 and clang.is_kind(given[0], "CALL_EXPR") and moves(of)
    taken = list(constructor.referenced.type.argument_types()) if constructor is not None else []
    if any(not is_reference(one) and not moves(one) for one in taken):
        return False
    return all(_is_forwarded(seen, one) for one in given)


def _is_forwarded(seen: Seen, argument: Cursor) -> bool:
    bare = clang.bare(argument)
    text = seen.text_of(argument)
    if re.fullmatch(r"\w+", text) and not clang.is_kind(bare, *_WORDS):
        return False
    if clang.is_kind(bare, "INTEGER_LITERAL", "GNU_NULL_EXPR") and not _WRITTEN_NUMBER.fullmatch(text):
        return False
    if _names_function(bare) or _hides_base(argument):
        return False
    return all(map(_may_be_elsewhere, argument.walk_preorder())) and not _is_not_captured(seen, argument)


def _names_function(bare: Cursor) -> bool:
    """Whether it names overloaded functions, which have no single type."""
    while clang.is_kind(bare, "UNARY_OPERATOR") or clang.is_wrapper(bare):
        inner = list(clang.named_children(bare))
        if len(inner) != 1:
            return False
        bare = inner[0]
    named = bare.referenced if clang.is_kind(bare, "DECL_REF_EXPR") else None
    return named is not None and clang.is_function(named)


def _may_be_elsewhere(part: Cursor) -> bool:
    """Whether it cannot be passed by reference: bit-fields, packed members, vector register elements, class
    constants (which may have no address); or whether it is not accessible there."""
    if clang.is_kind(part, "ARRAY_SUBSCRIPT_EXPR"):
        return all("__vector" not in str(one.type.get_canonical().spelling) for one in part.get_children())
    named = part.referenced if clang.is_kind(part, "DECL_REF_EXPR", "MEMBER_REF_EXPR", "CALL_EXPR") else None
    if named is None:
        return True
    if clang.is_kind(named, "FIELD_DECL"):
        return not _is_packed(named) and not named.is_bitfield()
    above = named.semantic_parent
    if clang.is_kind(named, "VAR_DECL"):
        return above is None or not clang.is_class(above)
    is_conversion = clang.is_kind(named, "CONSTRUCTOR", "CONVERSION_FUNCTION")
    return not is_conversion or is_public(named)


def _is_packed(field: Cursor) -> bool:
    """Whether it may be at an address that is not aligned for its type."""
    around = field.semantic_parent.type
    align, most = int(field.type.get_align()), int(around.get_align())
    offset_bits = int(around.get_offset(str(field.spelling)))
    return 0 < most < align or (align > 0 and offset_bits % (8 * align) > 0)


def _hides_base(argument: Cursor) -> bool:
    """Whether it is converted to a base, and some bases are not public."""
    while clang.is_wrapper(argument):
        inner = list(clang.named_children(argument))
        if len(inner) != 1:
            return False
        own, its = _class_of(argument.type), _class_of(inner[0].type)
        if own is not None and its is not None and own != its and _has_hidden_base(its):
            return True
        argument = inner[0]
    return False


def _class_of(of: Any) -> Cursor | None:
    plain = of.get_canonical()
    declared = (plain.get_pointee() if plain.get_pointee().spelling else plain).get_declaration()
    return declared if clang.is_class(declared) else None


def _has_hidden_base(declared: Cursor) -> bool:
    named = [base for one in lineage(declared) for base in bases(one)]
    return not all(map(clang.is_class, lineage(declared))) or not all(map(is_public, named))


def _is_not_captured(seen: Seen, argument: Cursor) -> bool:
    """Whether it is a constant of the function around a lambda: it has to be captured only if referenced."""
    around = [one for one in seen.above if clang.is_function(one) or clang.is_kind(one, "LAMBDA_EXPR")]
    begin = around[-1].extent.start.offset if around else 0
    for part in argument.walk_preorder():
        named = part.referenced if clang.is_kind(part, "DECL_REF_EXPR") else None
        if named is None or not clang.is_kind(named, "VAR_DECL"):
            continue
        is_local = named.semantic_parent is not None and clang.is_function(named.semantic_parent)
        if is_local and named.type.is_const_qualified() and named.extent.start.offset < begin:
            return True
    return False
