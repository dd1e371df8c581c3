# SPDX-License-Identifier: MIT
"""shared_ptr<T>(new T), reset(new T)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from heapwright.lint import clang
from heapwright.lint.checks.forwarding import makes_the_same
from heapwright.lint.checks.kinds import SHARED_FROM_NEW
from heapwright.lint.checks.objects import is_fixed, is_public, lineage
from heapwright.lint.checks.tree import (
    Problem,
    Seen,
    is_discarded,
    method_call,
    problem,
    replacing,
    std_class,
)
from heapwright.lint.clang import Cursor
from heapwright.lint.finding import Fix

WORDS = (re.compile(rb"[({]\s*(?:::\s*)?new\b"),)
_CLASSES = ("shared_ptr", "__shared_ptr")
_NEW = re.compile(
    r"(?:::)?new\s+(?P<type>[\w:<>,\s*&]+?)\s*(?:\((?P<arguments>.*)\)|(?P<braces>\{\s*\}))?", re.DOTALL
)
_CASTS = ("CXX_STATIC_CAST_EXPR", "CSTYLE_CAST_EXPR", "CXX_FUNCTIONAL_CAST_EXPR")
_SHORT = 40


def find(seen: Seen) -> Iterator[Problem]:
    """One block for the object and one for the counts; make_shared needs one in all."""
    made = _made(seen.cursor)
    if made is None or _is_left_alone(seen, made):
        return
    pointee = str(made.type.get_pointee().spelling)
    constructor = next((one for one in made.get_children() if _is_constructor(one)), None)
    if constructor is not None and not is_public(constructor.referenced):
        action = f"heapwright::make_shared_private<{pointee}>(…): the constructor is not public; C++20"
        yield problem(seen, SHARED_FROM_NEW, pointee, "", action)
        return
    text = _NEW.fullmatch(_source(seen, made))
    fix = _fix(seen, made, constructor, text) if text else None
    arguments = " ".join((text["arguments"] or "").split()) if text else "…"
    is_shown = fix is not None and len(arguments) <= _SHORT
    action = f"std::make_shared<{pointee}>({arguments if is_shown or not arguments else '…'})"
    yield problem(seen, SHARED_FROM_NEW, pointee, "", action, fix=fix)


def _is_constructor(cursor: Cursor) -> bool:
    called = cursor.referenced if clang.is_kind(cursor, "CALL_EXPR") else None
    return called is not None and clang.is_kind(called, "CONSTRUCTOR")


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
    """Arrays, placement new, and classes with their own operator new."""
    text = seen.text_of(made)
    if not text.startswith(("new ", "::new ")) or text.startswith(("new (", "::new (")):
        return True
    if "[" in text.partition("(")[0].partition("{")[0] or _is_of_array(seen.cursor, made):
        return True
    return _has_own_new(made.type.get_pointee().get_canonical().get_declaration())


def _is_of_array(cursor: Cursor, made: Cursor) -> bool:
    """The name of its type, or the pointer's."""
    reset = method_call(cursor) if cursor.spelling == "reset" else None
    pointer = (reset[1] if reset else cursor).type.get_canonical()
    names = [one.type for one in made.get_children() if clang.is_kind(one, "TYPE_REF")]
    return any(
        str(one.get_canonical().spelling).endswith("]")
        for one in (pointer.get_template_argument_type(0), *names)
    )


def _is_cast(cursor: Cursor, made: Cursor) -> bool:
    """Whether the result of new is cast before the pointer takes it."""
    for one in cursor.walk_preorder():
        if one == made:
            return False
        if clang.is_kind(one, *_CASTS):
            return True
    return True


def _has_own_new(declared: Cursor) -> bool:
    """Whether the class or a possible base has its own operator new or delete."""
    if not clang.is_class(declared):
        return False
    names = (member.spelling for one in lineage(declared) for member in one.get_children())
    is_unknown = any(not clang.is_class(one) for one in lineage(declared))
    return is_unknown or any(name in ("operator new", "operator delete") for name in names)


def _fix(seen: Seen, made: Cursor, constructor: Cursor | None, text: re.Match[str]) -> Fix | None:
    """make_shared instead of new: its result is moved into the pointer, whose type stays the same. Instead
    of reset it is assigned."""
    pointee = str(made.type.get_pointee().spelling)
    # Otherwise the type is deduced, or a macro contains more than a type.
    is_spelled = "".join(text["type"].split()) == "".join(pointee.split())
    arguments = "" if text["braces"] else text["arguments"]
    is_alike = is_spelled and not _is_cast(seen.cursor, made)
    if not is_alike or not makes_the_same(seen, made, constructor, arguments):
        return None
    call = f"std::make_shared<{text['type']}>({arguments or ''})"
    own, new = seen.cursor.extent, made.extent
    if seen.cursor.spelling != "reset":
        return replacing(seen.text, new.start.offset, new.end.offset, call)
    reset = method_call(seen.cursor)
    if reset is None or not is_discarded(seen):
        return None
    if std_class(reset[1]) not in _CLASSES or not is_fixed(reset[1]):
        return None
    by = f"{_source(seen, reset[1])} = {call}"
    return replacing(seen.text, own.start.offset, own.end.offset, by)
