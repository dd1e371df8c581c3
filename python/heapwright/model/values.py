# SPDX-License-Identifier: MIT
"""What src/python_module/values.hpp gives, as named tuples, by their annotations."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeVar, get_args

Row = TypeVar("Row")

# Control characters in a traced program's names could drive the terminal, and those of direction
# (U+061C, U+200E to U+202E, U+2066 to U+2069) turn the figures beside a name around.
_DIRECTIONS = (0x61C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_CONTROLS = dict.fromkeys((*range(32), *range(127, 160), *_DIRECTIONS), 65533)


def clean(text: str) -> str:
    """The text with control characters replaced."""
    return text if text.isprintable() else text.translate(_CONTROLS)


def numbers_of(packed: bytes) -> memoryview:
    """Packed unsigned 64-bit numbers as a sequence."""
    return memoryview(packed).cast("Q")


class Columns:
    """A table of many rows: its columns by name, read when first asked for."""

    def __init__(self, read: Callable[[], Mapping[str, bytes]]) -> None:
        self._read = read

    @cached_property
    def _columns(self) -> dict[str, memoryview]:
        return {name: numbers_of(packed) for name, packed in self._read().items()}

    def __getitem__(self, name: str) -> memoryview:
        return self._columns[name]


def read_fields(kind: type[Row], value: Callable[[str], Any]) -> Row:
    """A named tuple whose fields are read one by one."""
    fields: dict[str, Any] = kind.__annotations__
    return kind(**{name: _read(field, value, name) for name, field in fields.items()})


def _read(kind: Any, value: Callable[[str], Any], name: str) -> Any:
    return Columns(lambda: value(name)) if kind is Columns else value_of(kind, value(name))


def _numbers(kind: Any, packed: bytes) -> memoryview:
    return memoryview(packed).cast("d") if kind is float else numbers_of(packed)  # type: ignore[return-value]


def _column(kind: Any, given: Any) -> Sequence[Any]:
    return [clean(text) for text in given] if kind is str else _numbers(kind, given)


def value_of(kind: Any, given: Any) -> Any:
    """One value of this type; a tuple of named tuples is read from columns."""
    parts = get_args(kind)
    if not parts:
        is_row = isinstance(kind, type) and issubclass(kind, tuple)
        return read_fields(kind, given.__getitem__) if is_row else given
    if parts[-1] is not ...:
        return None if given is None else value_of(parts[0], given)
    if parts[0] in _NUMBERS:
        return tuple(_numbers(parts[0], given))
    if parts[0] is str:
        return tuple(map(clean, given))
    return tuple(_rows(parts[0], given, ""))


_NUMBERS = (int, float)
_SIMPLE = (*_NUMBERS, str)


def _rows(kind: Any, columns: Mapping[str, Any], prefix: str) -> list[Any]:
    values: list[Sequence[Any]] = [
        _column(field, columns[prefix + name])
        if field in _SIMPLE
        else _rows(field, columns, f"{prefix}{name}.")
        for name, field in kind.__annotations__.items()
    ]
    return [kind(*row) for row in zip(*values, strict=True)]
