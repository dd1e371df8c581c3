# SPDX-License-Identifier: MIT
"""Demangled names, short enough for a line: without return type and parameters, with what tells them apart.

Template arguments are shortened (defaults and modules left out, long ones cut in the middle), never emptied.
"""

from __future__ import annotations

import re
from functools import lru_cache

MAX_ARGUMENTS = 60  # characters of one list of template arguments

_HAS_STRUCTURE = re.compile(r"[ (<{\[]|operator")
_OPERATOR = re.compile(
    r"operator(?: (?:new|delete)(?:\[\])?|\(\)|\[\]|<=>|<<=?|>>=?|->\*?|<=|>=|<|>"
    r"| ?\"\" ?\w+| co_await|[-+*/%^&|~!=,]+)"
)
_CONVERSION = re.compile(r"operator (?=[\w({:])")
_AFTER_PARAMETERS = re.compile(
    r"(?: const| volatile| noexcept| ?&&?|\[(?:abi|clone)[^\]]*\]| \[clone[^\]]*\])*"
)
_OPENING = {"<": ">", "(": ")", "{": "}", "[": "]"}
_CLOSING = frozenset(_OPENING.values())
_ANONYMOUS = "(anonymous namespace)"
_LAMBDA_PARAMETERS = re.compile(r"^\{lambda\(.*\)(#\d+)\}$")

# What a standard library adds to what was written.
_DEFAULT_ARGUMENT = re.compile(
    r"std::(?:allocator|char_traits|less|hash|equal_to|default_delete|polymorphic_allocator)\b|alloc::alloc::Global$"
)
_INLINE_NAMESPACE = re.compile(r"\bstd::__(?:cxx11|1|ndk1|debug)::")
_STRING = re.compile(r"std::basic_string(_view)?<(char|wchar_t|char8_t|char16_t|char32_t)>")
_STRING_PREFIX = {"char": "", "wchar_t": "w", "char8_t": "u8", "char16_t": "u16", "char32_t": "u32"}
_RUST_MODULES = re.compile(r"(?<![\w:])(?:alloc|core|hashbrown)::(?:[a-z_]\w*::)*(?=[A-Z])")
_RUST_STD_MODULES = re.compile(r"(?<![\w:])std::(?:[a-z_]\w*::)+(?=[A-Z])")
_ARRAY = re.compile(r" (?=\[\d*\])")  # in "char []"; Rust's "&mut [u8]" keeps its
_QUALIFIERS = re.compile(r"(?<![\w>])(?:(?:\w+|\(anonymous namespace\))::)+(?=\w)")


@lru_cache(maxsize=65536)
def short_name(function: str) -> str:
    """The function in few words.

    >>> short_name("std::vector<int, std::allocator<int> >::push_back(int const&)")
    'std::vector<int>::push_back'
    >>> short_name("decltype(auto) f<int>(int)")
    'f<int>'
    >>> short_name("<alloc::vec::Vec<u8> as core::clone::Clone>::clone")
    '<Vec<u8> as Clone>::clone'
    """
    if not _HAS_STRUCTURE.search(function) or _is_of_go(function):
        return function
    return _plainer(_shorten(function)) or function


_TEMPLATE_ARGUMENTS = re.compile(r"(?:::)?<(?:->|[^<>])*>")


@lru_cache(maxsize=65536)
def bare_name(function: str) -> str:
    """The same without template arguments: what kind of function it is, not which.

    >>> bare_name("void std::vector<int, std::allocator<int> >::push_back(int const&)")
    'std::vector::push_back'
    """
    name = short_name(function)
    if "<" not in name or "operator" in name:
        return name
    while (shorter := _TEMPLATE_ARGUMENTS.sub("", name)) != name:
        name = shorter
    return name


def template_arguments(function: str, of: str) -> list[str]:
    """The arguments that the last name of this kind has in a function's.

    >>> template_arguments("A<int>::count<B<char, 2>, long>(B)", "count")
    ['B<char, 2>', 'long']
    """
    at = function.rfind(f"{of}<") + len(of)
    if at < len(of):
        return []
    return _split(function[at + 1 : _end_of_group(function, at) - 1])


def qualified_parts(function: str) -> list[tuple[str, list[str]]]:
    """The parts of its qualified name with their template arguments, from the outermost namespace on.

    >>> qualified_parts("void std::list<int, B<char> >::_M_insert<int>(int&&)")
    [('std', []), ('list', ['int', 'B<char>']), ('_M_insert', ['int'])]
    """
    parts: list[tuple[str, list[str]]] = []
    name, arguments, at = "", list[str](), 0
    while at < len(function) and (name or function[at] != "("):
        letter = function[at]
        end = _end_of_group(function, at) if letter in _OPENING else at + 1
        if letter == "(":
            break
        if letter == "<":
            arguments = _split(function[at + 1 : end - 1])
        elif function.startswith("::", at):
            parts.append((name, arguments))
            name, arguments, end = "", [], at + 2
        elif letter == " ":  # what was before is its type
            parts, name, arguments = [], "", []
        else:
            name += function[at:end]
        at = end
    return [*parts, (name, arguments)]


def short_type(name: str) -> str:
    """A type without default arguments and inline namespaces; long ones without namespaces.

    >>> short_type("std::__cxx11::list<A, std::allocator<A> >")
    'std::list<A>'
    >>> short_type("app::Row []")
    'app::Row[]'
    """
    short = _argument(name)
    return short if len(short) <= MAX_ARGUMENTS else without_namespaces(short)


def without_namespaces(name: str) -> str:
    """A short name without its namespaces and classes, those of its template arguments too.

    >>> without_namespaces("shop::(anonymous namespace)::total<shop::Order>")
    'total<Order>'
    """
    return _QUALIFIERS.sub("", name)


def _is_of_go(function: str) -> bool:
    return ".(*" in function or (
        "[" in function and "." in function and "::" not in function and "(" not in function
    )


def _shorten(text: str) -> str:
    kept = ""
    at = 0
    while at < len(text):
        letter = text[at]
        operator = _operator_end(text, at) if letter == "o" else 0
        if operator:
            return kept + _operator(text, at, operator)
        if text.startswith(_ANONYMOUS, at):
            kept += _ANONYMOUS
            at += len(_ANONYMOUS)
        elif letter == "(":
            end = _end_of_group(text, at)
            is_type = kept in ("", "decltype")
            if is_type and text[at + 1 : at + 2] in ("*", "&"):  # it returns a function's address
                return _shorten(text[at + 1 : end - 1].lstrip("*& "))
            if is_type:
                kept = ""
            elif not text.startswith("::", after := _AFTER_PARAMETERS.match(text, end).end()):  # type: ignore[union-attr]
                return kept
            else:
                end = after
            at = end
        elif letter in _OPENING:
            end = _end_of_group(text, at)
            kept += _group(text[at:end])
            at = end
        else:
            kept = "" if letter == " " else kept + letter
            at += 1
    return kept


def _operator_end(text: str, at: int) -> int:
    """Where the operator's name that starts here ends; 0: none starts here."""
    before = text[at - 1] if at else " "
    if before.isalnum() or before == "_":
        return 0
    found = _OPERATOR.match(text, at)
    if found:
        return found.end()
    if _CONVERSION.match(text, at):
        end = at + len("operator ")
        while end < len(text) and (text[end] != "(" or text.startswith(_ANONYMOUS, end)):
            end = _end_of_group(text, end) if text[end] in _OPENING else end + 1
        return end
    return 0


def _operator(text: str, at: int, end: int) -> str:
    name = text[at:end]
    rest = text[end:].lstrip(" ")
    if rest.startswith("<"):
        space = " " if name.endswith("<") else ""
        return name + space + _group(rest[: _end_of_group(rest, 0)])
    if name.startswith("operator ") and "<" in name:
        return "operator " + _argument(name.removeprefix("operator "))
    return name


def _end_of_group(text: str, at: int) -> int:
    """The place after the bracket that closes the one here; the text's end when none does."""
    expected = [_OPENING[text[at]]]
    place = at + 1
    while place < len(text) and expected:
        letter = text[place]
        if letter == expected[-1] and not (letter == ">" and text[place - 1] in "-="):
            expected.pop()
        elif letter in _OPENING and not text.startswith("operator<", place - 8):
            expected.append(_OPENING[letter])
        elif letter in _CLOSING and letter != ">" and letter in expected:
            while expected.pop() != letter:
                pass
        place += 1
    return place


def _group(text: str) -> str:
    """Template arguments, a lambda, an array, in short."""
    if text.startswith("{"):
        found = _LAMBDA_PARAMETERS.match(text)
        return f"{{lambda{found[1]}}}" if found else text
    if text.startswith("["):
        return "" if text.startswith(("[abi:", "[clone")) else text
    if len(text) < 2 or text[-1] != ">":
        return text
    return f"<{_fitted(_arguments(text[1:-1]))}>"


def _arguments(text: str) -> list[str]:
    parts = _split(text)
    while len(parts) > 1 and _DEFAULT_ARGUMENT.match(parts[-1]):
        parts.pop()
    return [_argument(part) for part in parts]


def _argument(text: str) -> str:
    """One argument, with the arguments inside it shortened the same way."""
    kept = ""
    at = 0
    while at < len(text):
        if text[at] == "<" and not kept.endswith("operator"):
            end = _end_of_group(text, at)
            inner = text[at + 1 : end - 1] if text[end - 1] == ">" else text[at + 1 : end]
            kept += f"<{', '.join(_arguments(inner))}>"
            at = end
        else:
            kept += text[at]
            at += 1
    plainer = _ARRAY.sub("", _plainer(kept.strip()))
    return _RUST_STD_MODULES.sub("", _RUST_MODULES.sub("", plainer)).replace("> >", ">>")


def _plainer(text: str) -> str:
    """Without inline namespaces; strings by the name that people use."""
    text = _INLINE_NAMESPACE.sub("std::", text)
    return _STRING.sub(lambda found: f"std::{_STRING_PREFIX[found[2]]}string{found[1] or ''}", text)


def _split(text: str) -> list[str]:
    parts = []
    begin = at = 0
    while at < len(text):
        if text[at] in _OPENING:
            at = _end_of_group(text, at)
        elif text[at] == ",":
            parts.append(text[begin:at].strip())
            at = begin = at + 1
        else:
            at += 1
    return [*parts, text[begin:].strip()]


def _fitted(arguments: list[str]) -> str:
    text = ", ".join(arguments)
    if len(text) <= MAX_ARGUMENTS:
        return text
    text = without_namespaces(text)
    if len(text) <= MAX_ARGUMENTS:
        return text
    head = MAX_ARGUMENTS * 2 // 3
    return f"{text[:head]}…{text[head + 1 - MAX_ARGUMENTS :]}"
