# SPDX-License-Identifier: MIT
"""Which allocator a program used, and which of its settings were in force."""

# Annotations are values here: from text, every field of a NamedTuple is compiled, half of the import's time.

from typing import NamedTuple

from heapwright.explain.settings import FIXES_THRESHOLD
from heapwright.model.records import Metadata

_FAMILIES = ("glibc", "jemalloc", "mimalloc", "gperftools", "tcmalloc", "heapwright")
_HEADERS = {"glibc": 8}


class Allocator(NamedTuple):
    """What served the program's heap calls.

    family: "glibc", "jemalloc", ..., "other". header_bytes: of each block beside what is usable.
    settings: of the environment, by name; the C library's tunables by their own names ("arena_max").
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
        return [
            name
            for setting in FIXES_THRESHOLD
            for name in (setting.variable, setting.tunable)
            if name in self.settings
        ]


def allocator_of(metadata: Metadata) -> Allocator:
    """Of a trace."""
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
    short = metadata.allocator.partition(" (")[0]
    return Allocator(family, short or "an unknown allocator", _HEADERS.get(family, 0), settings)
