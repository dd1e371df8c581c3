# SPDX-License-Identifier: MIT
"""Matches the recording to an expression of a line, and to a kind of finding."""

from __future__ import annotations

import re
from typing import NamedTuple

from heapwright.lint.expression import (
    CALL,
    CONSTRUCT,
    DEPENDENT,
    NEW,
    NEW_ARRAY,
    THROW,
    UNKNOWN,
    Expression,
    LineFacts,
    Owner,
)
from heapwright.lint.lines import Group
from heapwright.model.names import bare_name

_C_ALLOCATION = re.compile(
    r"(?:\w*(?:malloc|calloc|realloc|memalign|strdup|strndup|asprintf)\w*|aligned_alloc|getline|getdelim)$"
)
_FAMILIES = {
    "basic_string": "string",
    "vector": "vector",
    "map": "map",
    "set": "map",
    "multimap": "map",
    "multiset": "map",
    "unordered_map": "hash table",
    "unordered_set": "hash table",
    "unordered_multimap": "hash table",
    "unordered_multiset": "hash table",
    "list": "list",
    "forward_list": "list",
    "deque": "deque",
    "queue": "deque",
    "stack": "deque",
    "function": "function",
    "shared_ptr": "control block",
    "__shared_ptr": "control block",
}
_OPERATOR = re.compile(
    r"\boperator ?(\(\)|\[\]|<<=|>>=|<=>|->\*?|<<|>>|[-+*/%^&|=!<>]=|&&|\|\||\+\+|--|[-+*/%^&|~!=<>])"
)
_STREAMS = re.compile(r"basic_(?:[io]?stringstream|stringbuf|[io]?fstream|filebuf)$")
_MADE_STRING = re.compile(r"\b(?:basic_string|string|wstring)\b")
_GROWS = (
    "append",
    "push_back",
    "operator+=",
    "insert",
    "resize",
    "reserve",
    "replace",
    "assign",
    "operator=",
)
# Members that never allocate, in any class; and functions that make only one kind of thing.
_ONLY_LOOKS = frozenset(
    ("size", "length", "empty", "capacity", "data", "c_str", "begin", "end", "front", "back", "get")
)
_MAKES = {
    "make_unique": "unique_ptr",
    "make_unique_for_overwrite": "unique_ptr",
    "make_shared": "shared_ptr",
    "allocate_shared": "shared_ptr",
}
_LEAST_SCORE = 40


class Named(NamedTuple):
    """kind: from kinds.RECORDED; expression: None for compiler-generated code. is_exact: the recording's
    function and the source's agree."""

    kind: str
    expression: Expression | None
    is_exact: bool


def name_it(group: Group, at: LineFacts | None, line: int) -> Named | None:
    """None: no matching expression there."""
    if at is None:
        return None
    scored = [(_score(group, one, line), one) for one in at.expressions]
    score, best = max(scored, key=lambda each: each[0], default=(0, None))
    if best is not None and score >= _LEAST_SCORE:
        # Of two equal matches the first is named, and its share is unknown.
        is_only = sum(each == score for each, _ in scored) == 1
        return Named(_kind(group, best), best, score >= 100 and is_only)
    if at.is_class:
        return Named("implicit-copy", None, False)
    if at.is_constructor and group.callee:
        return Named("members", None, False)
    if at.is_template and group.callee:
        return _by_recording(group, at)
    outermost = _outermost(at, line)
    if outermost is None or _is_another(group, outermost):
        return None
    is_made = outermost.form == CONSTRUCT and not outermost.is_std
    return Named(_kind(group, outermost) if is_made else "call", outermost, False)


def _by_recording(group: Group, at: LineFacts) -> Named:
    """A match in a template, where the sources have no types."""
    name, of = callee_name(group), callee_class(group)
    one = Expression(
        DEPENDENT, name, of, "", "", 0, False, Owner(UNKNOWN), False, 0, 1, 0, 0, "", at.function
    )
    return Named(_kind(group, one), one, False)


def _outermost(at: LineFacts, line: int) -> Expression | None:
    """The one call that contains all others of the line: its tail call left no frame."""
    calls = [one for one in at.expressions if one.form in (CALL, CONSTRUCT, DEPENDENT) and one.line == line]
    widest = max(calls, key=lambda one: len(one.text), default=None)
    if widest is None or any(one.text not in widest.text for one in calls):
        return None
    return widest


def _is_another(group: Group, one: Expression) -> bool:
    """Whether it makes something else than the recorded blocks, such as another part of a list."""
    if one.is_std and one.name in _ONLY_LOOKS:
        return True
    return bool(group.kind and one.is_std and _MAKES.get(one.name, family_of(one)) not in ("", group.kind))


def _score(group: Group, one: Expression, line: int) -> int:
    """How well an expression matches the recording."""
    callee = callee_name(group)
    score = 0
    if one.form == THROW:
        score = 100 if group.kind == "exception" or "exception" in callee else 0
    elif one.form in (NEW, NEW_ARRAY):
        score = _score_of_new(group, one, callee)
    elif callee and one.name == callee:
        score = 100 + 20 * (one.class_name == callee_class(group))
    elif one.form == DEPENDENT and callee and re.search(rf"\b{re.escape(callee)}\b", one.text):
        score = 90
    elif callee and _makes(one, group):
        score = 60
    elif not callee and _C_ALLOCATION.match(one.name):
        score = 100
    if score:
        score += 15 * (one.line == line) - min(10, one.end_line - one.begin_line) - 30 * (one.how == "move")
    return score


def _score_of_new(group: Group, one: Expression, callee: str) -> int:
    if not callee:
        return 100
    if group.kind == "control block":
        return 60
    made = one.type_name.rpartition("::")[2].partition("<")[0]
    if callee in ("operator new", "operator new[]"):  # the class has its own
        return 100 if callee_class(group) == made else 0
    return 90 if callee == made else 0  # in the constructor of what it makes


def _makes(one: Expression, group: Group) -> bool:
    """Whether the expression belongs to the family of the recorded blocks."""
    if one.is_std and one.name in _ONLY_LOOKS:
        return False
    if group.kind and group.kind in (_MAKES.get(one.name), family_of(one)):
        return True
    if group.kind == "shared_ptr":
        return family_of(one) == "control block"
    if group.kind == "string":
        return bool(_MADE_STRING.search(one.type_name)) and one.form in (CALL, CONSTRUCT)
    return False


def callee_name(group: Group) -> str:
    """The last part of the function's name: push_back."""
    return bare_name(group.callee).rpartition("::")[2] if "operator" not in group.callee else _operator(group)


def _operator(group: Group) -> str:
    found = _OPERATOR.search(bare_name(group.callee))
    return f"operator{found[1]}" if found else bare_name(group.callee).rpartition("::")[2]


def callee_class(group: Group) -> str:
    parts = bare_name(group.callee).split("::")
    own = parts[-2] if len(parts) > 1 else ""
    return "basic_string" if own in ("string", "wstring") else own


def family_of(one: Expression) -> str:
    """The container, string or pointer that the function belongs to; "" = no known one."""
    if not one.is_std:
        return ""
    if _STREAMS.match(one.class_name):
        return "stream"
    return _FAMILIES.get(one.class_name, "")


def _kind(group: Group, one: Expression) -> str:
    if one.form == THROW:
        return "exception"
    if one.form in (NEW, NEW_ARRAY):
        if group.kind == "control block":
            return "control-block"
        if group.callee and group.kind:
            return "members"
        return "new-object" if one.form == NEW else "new-array"
    if one.name in ("make_shared", "allocate_shared"):
        return "make-shared"
    if one.name in ("make_unique", "make_unique_for_overwrite"):
        return "make-unique"
    if one.form == CONSTRUCT and not one.is_std:
        return "implicit-copy" if one.how == "copy" else "members"
    family = family_of(one) or _family_of_dependent(group, one)
    if group.kind == "buckets":
        return "buckets"
    if family == "control block":
        return "control-block"
    if one.name == "operator<<" and ("ostream" in one.type_name or one.form == DEPENDENT):
        return "stream"
    if one.name == "str":
        return "string-made"
    if family == "stream" or group.kind == "stream":
        return "stream"
    if family == "function" or group.kind == "function":
        return "function-object"
    if family:
        return _of_container(family, one)
    if _C_ALLOCATION.match(one.name) and group.kind == "":
        return "c-allocation"
    return _of_call(group, one)


def _family_of_dependent(group: Group, one: Expression) -> str:
    """The type from the recording, as a template's source does not have it."""
    if one.form != DEPENDENT:
        return ""
    return _FAMILIES.get(callee_class(group), "")


def _of_container(family: str, one: Expression) -> str:
    is_copy = one.how == "copy" or one.name == "operator="
    if family == "string":
        return _of_string(one)
    if family == "vector":
        if is_copy:
            return "vector-copy"
        return "vector-made" if _is_constructor(one) else "vector-growth"
    if is_copy:
        return "container-copy"
    if family == "deque":
        return "deque-chunk"
    return "node-insert"


def _is_constructor(one: Expression) -> bool:
    return one.form == CONSTRUCT or one.name == one.class_name != ""


def _of_string(one: Expression) -> str:
    if one.how == "copy":
        return "string-copy"
    if one.name == "operator=":
        return "string-copy"
    if _is_constructor(one) or one.name in ("substr", "to_string"):
        return "string-made"
    return "string-growth" if one.name in _GROWS or one.form == DEPENDENT else "string-made"


def _of_call(group: Group, one: Expression) -> str:
    if one.name == "operator+":
        return "string-concatenation"
    if one.name == "operator=" and not one.is_std:
        return "implicit-copy"
    if group.kind == "string" and one.is_std and _MADE_STRING.search(one.type_name):
        return "string-made"
    return "call"
