# SPDX-License-Identifier: MIT
"""How often a loop runs, if that is known before it."""

from __future__ import annotations

import re
from typing import NamedTuple

from heapwright.lint import clang
from heapwright.lint.checks.objects import is_pointer, is_reference
from heapwright.lint.checks.tree import Seen, std_class
from heapwright.lint.checks.uses import is_own_variable, only_read
from heapwright.lint.clang import Cursor

_CONTIGUOUS = frozenset("vector basic_string array deque initializer_list basic_string_view span".split())
_SIZED = _CONTIGUOUS | frozenset("map set multimap multiset unordered_map unordered_set list".split())
_INDEXED = ("vector", "array", "deque")
_COUNTED = re.compile(
    r"for \([\w:]+ (\w+) ?(?:= ?0|\(0\)|\{0\}); ?\1 ?(?:<|!=) ?([\w.:>()-]+); ?(?:\+\+\1|\1\+\+)\)"
)
_RANGE = re.compile(r"[\w.:>()\[\]-]+")
_LEAST_COUNT = 5  # smaller literal counts are not worth a line
_INTEGERS = "INT UINT LONG ULONG LONGLONG ULONGLONG".split()
_SMALL_INTEGERS = "CHAR_U UCHAR CHAR_S SCHAR SHORT USHORT".split()
_NAMES = ("DECL_REF_EXPR", "MEMBER_REF_EXPR")
_PARTS = (
    *_NAMES,
    *"CALL_EXPR UNEXPOSED_EXPR PAREN_EXPR CXX_FUNCTIONAL_CAST_EXPR INTEGER_LITERAL CXX_THIS_EXPR".split(),
    *"TYPE_REF NAMESPACE_REF TEMPLATE_REF".split(),
)


class Bound(NamedTuple):
    """text, text_of: the number, and what is read for it, as source text. of: the variables and members
    read. is_steady: reading it before the loop is free of cost and side effects. is_signed: it may be
    negative. is_own: only the function itself can change it; is_fixed: nothing can while the loop runs."""

    text: str
    text_of: str
    of: tuple[Cursor, ...]
    is_steady: bool
    is_signed: bool
    is_own: bool
    is_fixed: bool


def of_loop(seen: Seen) -> Bound | None:
    """None = not known."""
    is_range = clang.is_kind(seen.cursor, "CXX_FOR_RANGE_STMT")
    return _of_range(seen) if is_range else _of_counter(seen)


def _of_counter(seen: Seen) -> Bound | None:
    found = _COUNTED.match(seen.text_of())
    parts = clang.children(seen.cursor)
    if found is None or not _is_counter(parts[0], parts[-1], found[1]):
        return None
    bound = _compared(seen.cursor)
    if bound is None or not _is_readable(seen, bound) or re.search(rf"\b{found[1]}\b", found[2]):
        return None
    value = _value(bound)
    is_constant = clang.is_kind(bound, "INTEGER_LITERAL") or _is_enumerator(bound)
    if value is not None and value < _LEAST_COUNT:
        return None
    if not is_constant and not _is_integer(bound, *_INTEGERS, *_SMALL_INTEGERS):
        return None
    spelled = str(bound.type.get_canonical().spelling).removeprefix("const ")
    is_signed = not is_constant and not spelled.startswith("unsigned")
    return _bound(bound, found[2], found[2], is_signed, is_constant)


def _of_range(seen: Seen) -> Bound | None:
    parts = clang.children(seen.cursor)
    ranges = [one for one in parts[:-1] if clang.is_expression(one)]
    if len(ranges) != 1 or std_class(ranges[0]) not in _SIZED or _is_small(ranges[0]):
        return None
    name = seen.text_of(ranges[0])
    if not _RANGE.fullmatch(name) or not _is_readable(seen, ranges[0]):
        return None
    # Changing these while a loop iterates over them breaks the loop.
    return _bound(ranges[0], f"{name}.size()", name, False, std_class(ranges[0]) in _CONTIGUOUS)


def _bound(read: Cursor, text: str, text_of: str, is_signed: bool, is_fixed: bool) -> Bound:
    named = [one.referenced for one in read.walk_preorder() if clang.is_kind(one, *_NAMES)]
    kinds = ("VAR_DECL", "PARM_DECL", "FIELD_DECL", "UNEXPOSED_DECL")
    of = tuple(one for one in named if one is not None and clang.is_kind(one, *kinds))
    return Bound(text, text_of, of, _is_steady(read), is_signed, _is_own(read), is_fixed)


def _is_counter(init: Cursor, body: Cursor, name: str) -> bool:
    """Whether it is a number that only the loop's head changes, of a type large enough not to wrap."""
    made = clang.children(init)
    if len(made) != 1 or not clang.is_kind(made[0], "VAR_DECL") or made[0].spelling != name:
        return False
    return _is_integer(made[0], *_INTEGERS) and only_read(body, made[0])


def _is_integer(cursor: Cursor, *kinds: str) -> bool:
    of = cursor.type.get_canonical()
    return of.kind.name in kinds and not of.is_volatile_qualified()


def _compared(loop: Cursor) -> Cursor | None:
    """What the counter is compared with."""
    for child in loop.get_children():
        if clang.is_kind(child, "BINARY_OPERATOR"):
            parts = clang.children(child)
            return clang.bare(parts[-1]) if parts else None
    return None


def _is_readable(seen: Seen, bound: Cursor) -> bool:
    """Whether it consists of names and calls written literally in the source, and of nothing declared in
    the loop's head."""
    begin, end = seen.cursor.extent.start.offset, seen.cursor.extent.end.offset
    for one in bound.walk_preorder():
        if not clang.is_kind(one, *_PARTS):
            return False
        named = one.referenced if clang.is_kind(one, *_NAMES) else None
        if named is None:
            continue
        if "std::atomic" in str(one.type.get_canonical().spelling) or clang.is_kind(
            named, "CONVERSION_FUNCTION"
        ):
            return False
        is_of_head = clang.is_kind(named, "VAR_DECL") and begin <= named.extent.start.offset < end
        is_spelled = re.search(rf"(?:^|\W){re.escape(named.spelling)}$", seen.text_of(one)) is not None
        if is_of_head or not (is_spelled or str(named.spelling).startswith("operator")):
            return False
    return True


def _is_enumerator(bound: Cursor) -> bool:
    return bound.referenced is not None and clang.is_kind(bound.referenced, "ENUM_CONSTANT_DECL")


def _value(bound: Cursor) -> int | None:
    """The literal: written here, or as a constant."""
    if _is_enumerator(bound):
        return int(bound.referenced.enum_value)
    literal = bound
    named = bound.referenced if clang.is_kind(bound, "DECL_REF_EXPR") else None
    if named is not None and named.type.is_const_qualified():
        inner = [one for one in named.get_children() if clang.is_expression(one)]
        literal = clang.bare(inner[-1]) if inner else bound
    words = [token.spelling for token in literal.get_tokens()]
    is_written = clang.is_kind(literal, "INTEGER_LITERAL") and len(words) == 1 and words[0].isdecimal()
    return int(words[0]) if is_written else None


def _is_small(of: Cursor) -> bool:
    found = re.search(r"\barray<.*, (\d+)>$", str(of.type.get_canonical().spelling))
    return found is not None and int(found[1]) < _LEAST_COUNT


def _is_steady(cursor: Cursor) -> bool:
    """Whether it calls only methods that change and allocate nothing."""
    for one in cursor.walk_preorder():
        if not clang.is_kind(one, "CALL_EXPR"):
            continue
        called = one.referenced
        if called is None or not clang.is_kind(called, "CXX_METHOD"):
            return False
        is_lookup = called.spelling == "operator[]" and clang.class_of(called) in _INDEXED
        if not (called.is_const_method() or is_lookup) or not clang.is_plain(called.result_type):
            return False
    return True


def _is_own(read: Cursor) -> bool:
    """Whether it belongs to the function: a local, a member or method of one; or a constant."""
    if clang.is_kind(read, "UNEXPOSED_EXPR", "PAREN_EXPR"):
        return all(map(_is_own, clang.named_children(read)))
    if clang.is_kind(read, "CALL_EXPR"):
        called, parts = read.referenced, list(clang.named_children(read))
        is_method = called is not None and clang.is_kind(called, "CXX_METHOD") and len(parts) == 1
        return is_method and not is_reference(called.result_type) and _is_own(parts[0])
    if clang.is_kind(read, "MEMBER_REF_EXPR"):
        of = list(clang.named_children(read))
        is_direct = len(of) == 1 and not clang.is_kind(of[0], "CXX_THIS_EXPR")
        return read.type.is_const_qualified() or (is_direct and _is_own(of[0]))
    named = read.referenced if clang.is_kind(read, "DECL_REF_EXPR") else None
    if named is None or is_pointer(read.type):
        return clang.is_kind(read, "INTEGER_LITERAL")
    # The target of a parameter is the caller's, that of a local reference may be this function's.
    is_alias = is_reference(named.type) and not clang.is_kind(named, "PARM_DECL")
    is_constant = read.type.is_const_qualified() and not is_alias
    return is_constant or is_own_variable(named) or _is_enumerator(read)
