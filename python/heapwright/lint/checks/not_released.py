# SPDX-License-Identifier: MIT
"""Code meant to release memory that keeps it.

By type, as in the standard library; tests/python/lint/test_lint_matrix.py runs each spelling:

    kept        vector, string: reserve(0), resize(0), clear(), = {}; string: = "", = std::string()
    released    swap with an empty one, clear() and shrink_to_fit(), vector: = std::vector<T>()
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from heapwright.lint import clang, owners
from heapwright.lint.checks.kinds import NOT_RELEASED
from heapwright.lint.checks.objects import is_fixed, moves
from heapwright.lint.checks.tree import (
    Problem,
    Seen,
    break_at,
    is_statement,
    method_call,
    problem,
    replacing,
    std_class,
)
from heapwright.lint.clang import Cursor
from heapwright.lint.expression import GLOBAL, MEMBER, STATIC
from heapwright.lint.finding import Fix

# Functions whose name refers to memory.
_NAMES = (
    r"(?:release|free|trim|shrink|purge|reclaim|give_?back|drop)_?(?:all_?)?(?:unused_?)?"
    r"(?:mem|memory|buffers?|storage|caches?|heap|capacity|pools?)$|^(?:shrink|shrink_?to_?fit|trim)$"
)
_RELEASES = re.compile(_NAMES, re.IGNORECASE)
_DEFINED = _NAMES.replace("^", r"\b").replace("$", r"\s*\([^;{}]*\{")
WORDS = (re.compile(rf"\breserve\s*\(\s*0\s*\)|(?i:{_DEFINED})".encode()),)
_CLASSES = {"vector": "vector", "basic_string": "string"}
# As spelled in the source: without macros and comments.
_OBJECT = re.compile(r"[\w:.>()\[\]+*-]+")
_CALLED = re.compile(r" ?(?:\. ?(?:reserve|resize|clear) ?\(|=)")
_FILLS = "push_back|emplace_back|insert|emplace|append|assign|resize|reserve"
_GIVES_BACK = ("shrink_to_fit", "swap")


def find(seen: Seen) -> Iterator[Problem]:
    """reserve(0) anywhere; the rest in functions about memory, for objects that outlive them."""
    cursor = seen.cursor
    if not clang.is_kind(cursor, "CALL_EXPR"):
        return
    attempt = _attempt(seen)
    if attempt is None:
        return
    what, of, is_sure = attempt
    owner = owners.of_object(of)
    if not is_sure and (owner.kind not in (MEMBER, GLOBAL, STATIC) or not _is_about_memory(seen)):
        return
    if _is_given_back(seen, seen.text_of(of)) or (not is_sure and _is_reserved(seen, seen.text_of(of))):
        return
    if not is_sure and _is_filled_again(seen, seen.text_of(of)):
        return
    message = f"{what} keeps the {_CLASSES[std_class(of)]}'s memory"
    steps = _steps(seen, of, what)
    action = "".join(f"{step}; " for step in steps).rstrip()
    fix = _fix(seen, steps) if steps else None
    yield problem(seen, NOT_RELEASED, str(of.type.spelling), owner.name, action, message, fix)


def _steps(seen: Seen, of: Cursor, what: str) -> list[str]:
    """The code that does the same and releases the memory; reserve(0) keeps the elements. None if a macro
    hides the object, its name may then mean another one, or shrink_to_fit() cannot move the elements."""
    name = seen.text_of(of)
    if not _spells(seen, name):
        return []
    shrink = f"{name}.shrink_to_fit()"
    if what == "reserve(0)":
        return [shrink]
    return [f"{name}.clear()", shrink] if is_fixed(of) and _moves_elements(of) else []


def _spells(seen: Seen, name: str) -> bool:
    rest = seen.text_of().removeprefix(name)
    return _OBJECT.fullmatch(name) is not None and _CALLED.match(rest) is not None


def _moves_elements(of: Cursor) -> bool:
    return std_class(of) != "vector" or moves(of.type.get_canonical().get_template_argument_type(0))


def _fix(seen: Seen, steps: list[str]) -> Fix | None:
    begin, end = seen.cursor.extent.start.offset, seen.cursor.extent.end.offset
    if not is_statement(seen) or seen.text[end:].lstrip()[:1] != b";":
        return None
    return replacing(seen.text, begin, end, f";{break_at(seen.text, begin)}".join(steps))


def _attempt(seen: Seen) -> tuple[str, Cursor, bool] | None:
    """The spelling, the object, and whether the intent is certain."""
    call = method_call(seen.cursor)
    if call is not None and std_class(call[1]) in _CLASSES:
        name, of, arguments = call
        texts = [seen.text_of(one) for one in arguments]
        if name == "reserve" and texts == ["0"]:
            return "reserve(0)", of, True
        if name in ("resize", "clear") and texts in ([], ["0"]):
            return f"{name}({''.join(texts)})", of, False
        return None
    parts = list(clang.named_children(seen.cursor))
    if seen.cursor.spelling != "operator=" or len(parts) < 2:
        return None
    of, value = parts[0], seen.text_of(parts[-1])
    kind = std_class(of)
    if kind in _CLASSES and value == "{}":
        return "= {}", of, False
    if kind == "basic_string" and value in ('""', "std::string()", "std::string{}", "string()"):
        return f"= {value}", of, False
    return None


def _is_about_memory(seen: Seen) -> bool:
    function = seen.function
    return function is not None and _RELEASES.search(str(function.spelling)) is not None


def _is_reserved(seen: Seen, name: str) -> bool:
    """Whether reserve(0) of the same is reported instead."""
    function = seen.function
    return function is not None and f"{name}.reserve(0)" in seen.text_of(function)


def _is_filled_again(seen: Seen, name: str) -> bool:
    """Whether it is used later in the function: then the memory is meant to stay."""
    function = seen.function
    if function is None:
        return False
    later = seen.text[seen.cursor.extent.end.offset : function.extent.end.offset].decode(errors="replace")
    own = re.escape(name)
    return re.search(rf"\b{own} ?(?:\. ?(?:{_FILLS})\((?! ?0 ?\))|\+=)", later) is not None


def _is_given_back(seen: Seen, name: str) -> bool:
    """Whether something in the same function does release it."""
    function = seen.function
    if function is None:
        return False
    text = seen.text_of(function).replace(" ", "")
    own = re.escape(name.replace(" ", ""))
    return bool(
        re.search(rf"{own}(?:\.|->)(?:{'|'.join(_GIVES_BACK)})\(", text)
        or re.search(rf"swap\([^;]*{own}", text)
    )
