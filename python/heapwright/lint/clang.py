# SPDX-License-Identifier: MIT
"""libclang, and common queries on its syntax trees."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from importlib import import_module
from typing import Any

from heapwright.lint.compile import Unit
from heapwright.model.extras import MissingPackageError

Cursor = Any

_KEEP_GOING = 0x200  # CXTranslationUnit_KeepGoing, which the bindings do not name

_FUNCTIONS = (
    "FUNCTION_DECL",
    "CXX_METHOD",
    "CONSTRUCTOR",
    "DESTRUCTOR",
    "CONVERSION_FUNCTION",
    "FUNCTION_TEMPLATE",
)
_CLASSES = (
    "CLASS_DECL",
    "STRUCT_DECL",
    "UNION_DECL",
    "CLASS_TEMPLATE",
    "CLASS_TEMPLATE_PARTIAL_SPECIALIZATION",
)
_SCOPES = (*_CLASSES, "NAMESPACE", "LINKAGE_SPEC", "UNEXPOSED_DECL")
_LOOPS = ("FOR_STMT", "WHILE_STMT", "DO_STMT", "CXX_FOR_RANGE_STMT")
_WRAPPERS = (
    "UNEXPOSED_EXPR",
    "PAREN_EXPR",
    "CXX_STATIC_CAST_EXPR",
    "CSTYLE_CAST_EXPR",
    "CXX_FUNCTIONAL_CAST_EXPR",
)


_NUMBERS = ("bool", "char", "short", "int", "long", "float", "double")


class ParseError(Exception):
    """libclang could not read the file at all."""


def cindex() -> Any:
    """The module; MissingPackageError if it is not installed."""
    try:
        return import_module("clang.cindex")
    except ModuleNotFoundError:
        raise MissingPackageError("libclang", "lint") from None


def parse(unit: Unit, resource: Sequence[str]) -> Any:
    """The translation unit, even with errors."""
    module = cindex()
    arguments = [*unit.arguments, *resource, "-w", "-ferror-limit=0", "-fno-caret-diagnostics"]
    try:
        # Otherwise nothing is included after a missing file.
        return module.Index.create().parse(unit.file, arguments, options=_KEEP_GOING)
    except module.TranslationUnitLoadError:
        raise ParseError(f"libclang cannot parse {unit.file}") from None


@lru_cache(maxsize=1)
def _kinds() -> dict[str, Any]:
    module = cindex()
    found = {name: getattr(module.CursorKind, name) for name in dir(module.CursorKind)}
    return {name: kind for name, kind in found.items() if isinstance(kind, module.CursorKind)}


@lru_cache(maxsize=64)
def _set_of(names: tuple[str, ...]) -> frozenset[Any]:
    return frozenset(_kinds()[name] for name in names if name in _kinds())


def is_kind(cursor: Cursor, *names: str) -> bool:
    """Whether it is one of these kinds, by name in CursorKind."""
    try:
        return cursor.kind in _set_of(names)
    except ValueError:  # a kind unknown to the bindings
        return False


def is_function(cursor: Cursor) -> bool:
    return is_kind(cursor, *_FUNCTIONS)


def is_class(cursor: Cursor) -> bool:
    return is_kind(cursor, *_CLASSES)


def is_scope(cursor: Cursor) -> bool:
    """Cursors that contain declarations."""
    return is_kind(cursor, *_SCOPES)


def is_loop(cursor: Cursor) -> bool:
    return is_kind(cursor, *_LOOPS)


def is_wrapper(cursor: Cursor) -> bool:
    """Cursors that wrap an expression without relevant effect."""
    return is_kind(cursor, *_WRAPPERS)


def children(cursor: Cursor) -> list[Cursor]:
    return list(cursor.get_children())


def bare(cursor: Cursor) -> Cursor:
    """The expression without wrappers."""
    while is_wrapper(cursor) or is_kind(cursor, "CALL_EXPR"):
        inner = children(cursor)
        expressions = [one for one in inner if not is_kind(one, "TYPE_REF", "NAMESPACE_REF", "TEMPLATE_REF")]
        is_conversion = is_wrapper(cursor) or _is_copy(cursor)
        if len(expressions) != 1 or not is_conversion:
            return cursor
        cursor = expressions[0]
    return cursor


def _is_copy(cursor: Cursor) -> bool:
    """A constructor call with one argument: a conversion, a copy, a move."""
    called = cursor.referenced
    return called is not None and is_kind(called, "CONSTRUCTOR")


def named_children(cursor: Cursor) -> Iterator[Cursor]:
    """Its subexpressions, without type names."""
    for child in cursor.get_children():
        if not is_kind(child, "TYPE_REF", "NAMESPACE_REF", "TEMPLATE_REF"):
            yield child


def is_name_of(cursor: Cursor, declared: Cursor) -> bool:
    """Whether it names this declaration; template-dependent names never do."""
    named = cursor.referenced
    return named is not None and bool(named == declared)


def is_expression(cursor: Cursor) -> bool:
    try:
        return bool(cursor.kind.is_expression())
    except ValueError:  # a kind unknown to the bindings: of C++20
        return True


def is_method_name(first: Cursor, name: str) -> bool:
    """Whether a call's first child names a method, rather than being an operand that is a member."""
    return is_kind(first, "MEMBER_REF_EXPR") and str(first.spelling) == name


def class_of(called: Cursor) -> str:
    """A method's class, without namespaces."""
    above = called.semantic_parent
    return str(above.spelling) if above is not None and is_class(above) else ""


def shown_class(declared: Cursor) -> Cursor:
    """The definition; for a class made from a template, the template's."""
    template = cindex().conf.lib.clang_getSpecializedCursorTemplate(declared)
    return declared if template is None or children(declared) else template


def is_plain(of: Any) -> bool:
    """Whether a type is a number, a pointer or a reference, whose values own no memory."""
    name = str(of.get_canonical().spelling)
    return name.endswith(("&", "*")) or name.split()[-1] in _NUMBERS


def is_of_std(declaration: Cursor) -> bool:
    """Whether it is in std or an implementation namespace of it."""
    above = declaration.semantic_parent
    outermost = ""
    while above is not None and not is_kind(above, "TRANSLATION_UNIT"):
        if is_kind(above, "NAMESPACE"):
            outermost = above.spelling
        above = above.semantic_parent
    return outermost in ("std", "__gnu_cxx", "__cxxabiv1")


def is_template(function: Cursor) -> bool:
    """Whether its types are known only at its use: it is a template, or in one."""
    above = function
    while above is not None and not is_kind(above, "TRANSLATION_UNIT"):
        if is_kind(above, "FUNCTION_TEMPLATE", "CLASS_TEMPLATE", "CLASS_TEMPLATE_PARTIAL_SPECIALIZATION"):
            return True
        above = above.semantic_parent
    return False


def qualified(cursor: Cursor) -> str:
    """Function or variable with its enclosing classes."""
    names = [str(cursor.spelling)]
    above = cursor.semantic_parent
    while above is not None and is_class(above):
        names.append(str(above.spelling))
        above = above.semantic_parent
    return "::".join(reversed(names))
