# SPDX-License-Identifier: MIT
"""shared_ptr<T>(new T), reset(new T)."""

from __future__ import annotations

from collections.abc import Iterator

from heapwright.lint import clang
from heapwright.lint.checks.kinds import SHARED_FROM_NEW
from heapwright.lint.checks.tree import Problem, Seen, method_call, problem
from heapwright.lint.clang import Cursor

_CLASSES = ("shared_ptr", "__shared_ptr")


def find(seen: Seen) -> Iterator[Problem]:
    """One block for the object, one for the counts, where make_shared takes one."""
    made = _made(seen.cursor)
    if made is None or _is_left_alone(seen, made):
        return
    pointee = str(made.type.get_pointee().spelling)
    constructor = next(
        (one.referenced for one in made.get_children() if clang.is_kind(one, "CALL_EXPR")), None
    )
    is_public = constructor is None or str(constructor.access_specifier).endswith(
        ("PUBLIC", "INVALID", "NONE")
    )
    if is_public:
        action = f"std::make_shared<{pointee}>({_arguments(seen.text_of(made))})"
        yield problem(seen, SHARED_FROM_NEW, pointee, "", action)
    else:
        action = f"heapwright::make_shared_private<{pointee}>(…): the constructor is not public"
        yield problem(seen, SHARED_FROM_NEW, pointee, "", action)


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


def _is_left_alone(seen: Seen, made: Cursor) -> bool:
    """Arrays, placement, and classes with an operator new of their own."""
    text = seen.text_of(made)
    if not text.startswith(("new ", "new\t", "::new ")) or text.startswith(("new (", "::new (")):
        return True
    if "[" in text.partition("(")[0].partition("{")[0]:
        return True
    declared = made.type.get_pointee().get_canonical().get_declaration()
    return any(one.spelling == "operator new" for one in declared.get_children())


def _arguments(text: str) -> str:
    """What stands in the parentheses, where it is short."""
    inside = text.partition("(")[2].rpartition(")")[0]
    return inside if len(inside) <= 40 else "…"
