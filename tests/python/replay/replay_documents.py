# SPDX-License-Identifier: MIT
"""Documents of a replay from what a test says of them: the rest is empty, 0 or unknown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from heapwright.replay.result import Document

_Kind = TypeVar("_Kind")
_NOTHING = object()


def typed(kind: type[_Kind], said: Mapping[str, Any]) -> _Kind:
    """An instance of a data class with these fields; a name that it does not have is an error."""
    hints = get_type_hints(kind)
    unknown = set(said) - set(hints)
    assert not unknown, unknown
    own = {field.name: _value(hints[field.name], said.get(field.name, _NOTHING)) for field in fields(kind)}  # type: ignore[arg-type]
    return kind(**own)


def document_of(said: Mapping[str, Any]) -> Document:
    """The whole document."""
    return typed(Document, said)


def _value(hint: Any, said: Any) -> Any:
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        known = next(part for part in parts if part is not NoneType)
        return None if said is _NOTHING or said is None else _value(known, said)
    if is_dataclass(hint):
        return said if is_dataclass(said) else typed(hint, {} if said is _NOTHING else said)  # type: ignore[arg-type]
    if origin is None:
        return hint() if said is _NOTHING else said
    if issubclass(origin, Mapping):
        return {} if said is _NOTHING else {key: _value(parts[1], value) for key, value in said.items()}
    return [] if said is _NOTHING else [_value(parts[0], value) for value in said]
