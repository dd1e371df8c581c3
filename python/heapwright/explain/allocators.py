# SPDX-License-Identifier: MIT
"""Which allocator a program used, and which of its settings were in force."""

# Annotations are values here: from text, every field of a NamedTuple is compiled, half of the import's time.

from collections.abc import Iterable
from typing import NamedTuple

from heapwright.explain.settings import FIXES_THRESHOLD, OF_MALLOPT
from heapwright.model.facts import AllocatorOption
from heapwright.model.records import Metadata

_FAMILIES = ("glibc", "jemalloc", "mimalloc", "gperftools", "tcmalloc", "heapwright")
_HEADERS = {"glibc": 8}


class Allocator(NamedTuple):
    """What served the program's heap calls.

    family: "glibc", "jemalloc", ..., "other". header_bytes: of each block beside what is usable.
    settings: of the environment, by name; the C library's tunables by their own names ("arena_max"), and what
    the program gave mallopt by the option's ("M_ARENA_MAX").
    """

    family: str
    name: str
    header_bytes: int
    settings: dict[str, str]

    @property
    def fixes_threshold(self) -> bool:
        """True where the C library may not move its mmap threshold."""
        return bool(self.fixing_settings)

    @property
    def fixing_settings(self) -> list[str]:
        """The settings that do so, as they are named where they were set."""
        return [name for setting in FIXES_THRESHOLD if (name := setting.name_in(self.settings))]


def allocator_of(metadata: Metadata, options: Iterable[AllocatorOption]) -> Allocator:
    """Of a trace. options: that the program set itself."""
    first = metadata.allocator.partition(" ")[0].lower()
    family = next((name for name in _FAMILIES if first.startswith(name)), "other")
    if family == "gperftools":
        family = "tcmalloc"
    values = metadata.condition_values
    settings = {name: value for name, value in values.items() if name.isupper() or name.startswith("_")}
    for tunable in values.get("GLIBC_TUNABLES", "").split(":"):
        name, equals, value = tunable.partition("=")
        if equals:
            settings[name.removeprefix("glibc.malloc.")] = value
    if family == "glibc":
        values_of = {_as_int(option.parameter): str(_as_int(option.value)) for option in options}
        settings |= {of.option: values_of[of.parameter] for of in OF_MALLOPT if of.parameter in values_of}
    short = metadata.allocator.partition(" (")[0]
    return Allocator(family, short or "an unknown allocator", _HEADERS.get(family, 0), settings)


def _as_int(recorded: int) -> int:
    """An int of C that was recorded without its sign.

    >>> _as_int(2**32 - 1), _as_int(5)
    (-1, 5)
    """
    return recorded - (1 << 32) if recorded >= 1 << 31 else recorded
