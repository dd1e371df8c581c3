# SPDX-License-Identifier: MIT
"""shared_ptr<T>(new T), reset(new T)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from heapwright.lint import clang
from heapwright.lint.checks.kinds import SHARED_FROM_NEW
from heapwright.lint.checks.tree import (
    Problem,
    Seen,
    method_call,
    parent,
    problem,
    replacing,
    std_class,
)
from heapwright.lint.clang import Cursor
from heapwright.lint.finding import Fix

WORDS = (re.compile(rb"[({]\s*(?:::\s*)?new\b"),)
_CLASSES = ("shared_ptr", "__shared_ptr")
_NEW = re.compile(r"(?:::)?new\s+(?P<type>[\w:<>,\s*&]+?)\s*(?:\((?P<arguments>.*)\)|\{\s*\})?", re.DOTALL)
_SHORT = 40
# What make_shared's parameters would take for something else: zero for a pointer, a list in braces.
_NOT_FORWARDED = re.compile(r"(?:^|,)\s*(?:\{|(?:0|NULL)\s*(?:,|$))")


def find(seen: Seen) -> Iterator[Problem]:
    """One block for the object, one for the counts, where make_shared takes one."""
    made = _made(seen.cursor)
    if made is None or _is_left_alone(seen, made):
        return
    pointee = str(made.type.get_pointee().spelling)
    constructor = next((one for one in made.get_children() if clang.is_kind(one, "CALL_EXPR")), None)
    called = constructor.referenced if constructor is not None else None
    if called is not None and not str(called.access_specifier).endswith(("PUBLIC", "INVALID", "NONE")):
        action = f"heapwright::make_shared_private<{pointee}>(…): the constructor is not public; C++20"
        yield problem(seen, SHARED_FROM_NEW, pointee, "", action)
        return
    text = _NEW.fullmatch(_source(seen, made))
    arguments = " ".join((text["arguments"] or "").split()) if text else "…"
    action = f"std::make_shared<{pointee}>({arguments if len(arguments) <= _SHORT else '…'})"
    fix = _fix(seen, made, constructor, text) if text else None
    yield problem(seen, SHARED_FROM_NEW, pointee, "", action, fix=fix)


def _made(cursor: Cursor) -> Cursor | None:
    """The new expression that is the only argument."""
    if not clang.is_kind(cursor, "CALL_EXPR") or cursor.referenced is None:
        return None
    called = cursor.referenced
    if clang.class_of(called) not in _CLASSES or not clang.is_of_std(called):
        return None
    arguments: list[Cursor] = []
    if clang.is_kind(called, "CONSTRUCTOR"):
        arguments = list(clang.named_children(cursor))
    elif called.spelling == "reset":
        call = method_call(cursor)
        arguments = call[2] if call else []
    if len(arguments) != 1:
        return None  # a deleter, an allocator, an alias
    made = arguments[0]
    while clang.is_wrapper(made):
        made = next(iter(clang.named_children(made)), None)
        if made is None:
            return None
    return made if clang.is_kind(made, "CXX_NEW_EXPR") else None


def _source(seen: Seen, cursor: Cursor) -> str:
    extent = cursor.extent
    return seen.text[extent.start.offset : extent.end.offset].decode(errors="replace")


def _is_left_alone(seen: Seen, made: Cursor) -> bool:
    """Arrays, placement, and classes with an operator new of their own."""
    text = seen.text_of(made)
    if not text.startswith(("new ", "::new ")) or text.startswith(("new (", "::new (")):
        return True
    if "[" in text.partition("(")[0].partition("{")[0]:
        return True
    return _has_own_new(made.type.get_pointee().get_canonical().get_declaration())


def _has_own_new(declared: Cursor) -> bool:
    """The class or one that it inherits from."""
    for one in declared.get_children():
        if one.spelling == "operator new":
            return True
        if clang.is_kind(one, "CXX_BASE_SPECIFIER"):
            base = one.type.get_canonical().get_declaration()
            if _has_own_new(base):
                return True
    return False


def _fix(seen: Seen, made: Cursor, constructor: Cursor | None, text: re.Match[str]) -> Fix | None:
    """make_shared in place of new: what it gives is moved into the pointer that is made, whose type stays as
    it is. In place of reset it is assigned."""
    arguments = text["arguments"] or ""
    is_deduced = "<" not in text["type"] and any(
        clang.is_kind(one, "TEMPLATE_REF") for one in made.get_children()
    )
    if is_deduced or text["type"] == "auto" or not _is_forwarded(arguments, constructor):
        return None
    call = f"std::make_shared<{text['type']}>({arguments})"
    own, new = seen.cursor.extent, made.extent
    if seen.cursor.spelling != "reset":
        return replacing(seen.text, new.start.offset, new.end.offset, call)
    reset = method_call(seen.cursor)
    if reset is None or not parent(seen).kind.is_statement() or std_class(reset[1]) not in _CLASSES:
        return None
    by = f"{_source(seen, reset[1])} = {call}"
    return replacing(seen.text, own.start.offset, own.end.offset, by)


def _is_forwarded(arguments: str, constructor: Cursor | None) -> bool:
    """Whether make_shared passes the arguments on as they are."""
    if _NOT_FORWARDED.search(arguments):
        return False
    for one in clang.named_children(constructor) if constructor is not None else ():
        bare = clang.bare(one)
        declared = bare.referenced if clang.is_kind(bare, "DECL_REF_EXPR") else None
        if declared is None:
            continue
        # The name of several functions has no type of its own; a constant of a class may have no address.
        if clang.is_function(declared):
            return False
        above = declared.semantic_parent
        if clang.is_kind(declared, "VAR_DECL") and above is not None and clang.is_class(above):
            return False
    return True
