# SPDX-License-Identifier: MIT
"""The allocator that a program used, and its settings."""

# Annotations are values here: compiling them from text for each NamedTuple field takes half the import time.

from collections.abc import Iterable
from typing import NamedTuple

from heapwright.explain.settings import FIXES_THRESHOLD, OF_MALLOPT
from heapwright.model.facts import AllocatorOption
from heapwright.model.records import Metadata

_FAMILIES = ("glibc", "jemalloc", "mimalloc", "gperftools", "tcmalloc", "heapwright")
_HEADERS = {"glibc": 8}


class Allocator(NamedTuple):
    """What served the program's heap calls.

    family: "glibc", "jemalloc", ..., "other". header_bytes: of each block, outside its usable size.
    settings: environment variables by name; the C library's tunables by their names ("arena_max"), and
    the program's mallopt calls by the option's ("M_ARENA_MAX"). function: its malloc, of one that is linked
    into the program.
    """

    family: str
    name: str
    header_bytes: int
    settings: dict[str, str]
    function: str = ""

    @property
    def is_inside(self) -> bool:
        """Linked into the program: another one that is preloaded does not take its place."""
        return self.name.endswith(" inside") or self.name.startswith("the program's own")

    @property
    def conf_of_jemalloc(self) -> str:
        """The environment variable with its options, which has the prefix that jemalloc was built with."""
        prefix = self.function.removesuffix("malloc").replace("_rjem_je_", "_rjem_")
        return f"{prefix.upper()}MALLOC_CONF"

    def options_of_jemalloc(self) -> dict[str, str]:
        """Parses that variable: name:value,name:value; the last of a name counts."""
        options = self.settings.get(self.conf_of_jemalloc, "").split(",")
        return {name: value for name, colon, value in (one.partition(":") for one in options) if colon}

    @property
    def fixes_threshold(self) -> bool:
        """True where the C library may not move its mmap threshold."""
        return bool(self.fixing_settings)

    @property
    def fixing_settings(self) -> list[str]:
        """The settings that fix the mmap threshold, as they were named when set."""
        return [name for setting in FIXES_THRESHOLD if (name := setting.name_in(self.settings))]


def allocator_of(metadata: Metadata, options: Iterable[AllocatorOption]) -> Allocator:
    """The allocator of a trace. options: set by the program with mallopt."""
    first = metadata.allocator.partition(" ")[0].lower()
    family = next((name for name in _FAMILIES if first.startswith(name)), "other")
    if family == "gperftools":
        family = "tcmalloc"
    if first.startswith("ld-musl"):
        family = "musl"
    values = metadata.condition_values
    settings = {name: value for name, value in values.items() if name.isupper() or name.startswith("_")}
    for tunable in values.get("GLIBC_TUNABLES", "").split(":"):
        name, equals, value = tunable.partition("=")
        if equals:
            settings[name.removeprefix("glibc.malloc.")] = value
    if family == "glibc":
        values_of = {_as_int(option.parameter): str(_as_int(option.value)) for option in options}
        settings |= {of.option: values_of[of.parameter] for of in OF_MALLOPT if of.parameter in values_of}
    short, _, more = metadata.allocator.partition(" (")
    function = more.removesuffix(")") if short.endswith(" inside") else ""
    name = "musl" if family == "musl" else short or "an unknown allocator"
    return Allocator(family, name, _HEADERS.get(family, 0), settings, function)


def _as_int(recorded: int) -> int:
    """A signed C int that was recorded as unsigned.

    >>> _as_int(2**32 - 1), _as_int(5)
    (-1, 5)
    """
    return recorded - (1 << 32) if recorded >= 1 << 31 else recorded
