# SPDX-License-Identifier: MIT
"""The settings of allocators by name, and the environment variables that apply them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from heapwright.measure.errors import MeasureError

_SIZES = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
# A replay inherits none of these variables: it takes them only from the recorded program.
_OWN_PREFIXES = ("MALLOC_", "MIMALLOC_", "TCMALLOC_", "HEAPWRIGHT_HEAP_", "SCUDO_", "TBB_MALLOC_")
_OWN_NAMES = ("GLIBC_TUNABLES", "_RJEM_MALLOC_CONF")

_Value = Callable[[str], str]


def _bytes(text: str) -> str:
    found = re.fullmatch(r"(\d+)([kmg]?)(?:i?b)?", text, re.IGNORECASE)
    if not found:
        raise ValueError("a number of bytes such as 131072, 128k or 2M")
    return str(int(found[1]) * _SIZES[found[2].lower()])


def _count(text: str) -> str:
    if not re.fullmatch(r"-?\d{1,18}", text):
        raise ValueError("a whole number")
    return text


def _number(text: str) -> str:
    if not re.fullmatch(r"\d{1,9}(\.\d+)?", text):
        raise ValueError("a number")
    return text


def _switch(text: str) -> str:
    if text not in ("0", "1"):
        raise ValueError("0 or 1")
    return text


def _truth(text: str) -> str:
    if text not in ("true", "false"):
        raise ValueError("true or false")
    return text


def _word(text: str) -> str:
    if not re.fullmatch(r"[\w.]+", text):
        raise ValueError("one word")
    return text


@dataclass(frozen=True, slots=True)
class _Way:
    """How a setting is applied: a variable, or an entry of a list in one."""

    variable: str
    value: _Value
    entry: str = ""  # "glibc.malloc.tcache_count=" in GLIBC_TUNABLES
    separator: str = ":"


def _conf(name: str, value: _Value) -> _Way:
    return _Way("MALLOC_CONF", value, f"{name}:", ",")


def _tunable(name: str, value: _Value) -> _Way:
    return _Way("GLIBC_TUNABLES", value, f"glibc.malloc.{name}=")


KNOWN: Mapping[str, Mapping[str, _Way]] = {
    "glibc": {
        "arena_max": _Way("MALLOC_ARENA_MAX", _count),
        "arena_test": _Way("MALLOC_ARENA_TEST", _count),
        "mmap_threshold": _Way("MALLOC_MMAP_THRESHOLD_", _bytes),
        "mmap_max": _Way("MALLOC_MMAP_MAX_", _count),
        "trim_threshold": _Way("MALLOC_TRIM_THRESHOLD_", _bytes),
        "top_pad": _Way("MALLOC_TOP_PAD_", _bytes),
        "tcache_count": _tunable("tcache_count", _count),
        "tcache_max": _tunable("tcache_max", _bytes),
        "mxfast": _tunable("mxfast", _bytes),
        "hugetlb": _tunable("hugetlb", _count),
    },
    "jemalloc": {
        "narenas": _conf("narenas", _count),
        "dirty_decay_ms": _conf("dirty_decay_ms", _count),
        "muzzy_decay_ms": _conf("muzzy_decay_ms", _count),
        "background_thread": _conf("background_thread", _truth),
        "tcache": _conf("tcache", _truth),
        "lg_tcache_max": _conf("lg_tcache_max", _count),
        "thp": _conf("thp", _word),
        "metadata_thp": _conf("metadata_thp", _word),
        "percpu_arena": _conf("percpu_arena", _word),
        "retain": _conf("retain", _truth),
    },
    "tcmalloc": {
        "release_rate": _Way("TCMALLOC_RELEASE_RATE", _number),
        "thread_cache_bytes": _Way("TCMALLOC_MAX_TOTAL_THREAD_CACHE_BYTES", _bytes),
        "aggressive_decommit": _Way("TCMALLOC_AGGRESSIVE_DECOMMIT", _truth),
    },
    "mimalloc": {
        "purge_delay": _Way("MIMALLOC_PURGE_DELAY", _count),
        "decommit_delay": _Way("MIMALLOC_DECOMMIT_DELAY", _count),  # its name before 2.1
        "reset_delay": _Way("MIMALLOC_RESET_DELAY", _count),
        "page_reset": _Way("MIMALLOC_PAGE_RESET", _switch),
        "eager_commit": _Way("MIMALLOC_EAGER_COMMIT", _switch),
        "large_os_pages": _Way("MIMALLOC_LARGE_OS_PAGES", _switch),
    },
    "tbb": {
        "huge_pages": _Way("TBB_MALLOC_USE_HUGE_PAGES", _switch),
        "huge_size_threshold": _Way("TBB_MALLOC_SET_HUGE_SIZE_THRESHOLD", _bytes),
    },
    "heapwright": {
        "decay_ms": _Way("HEAPWRIGHT_HEAP_DECAY_MS", _count),
        "hardened": _Way("HEAPWRIGHT_HEAP_HARDENED", _switch),
        "huge_pages": _Way("HEAPWRIGHT_HEAP_HUGE_PAGES", _switch),
        "maintenance": _Way("HEAPWRIGHT_HEAP_MAINTENANCE", _word),
    },
}

# What --search tries: settings named in field reports.
GRID: Mapping[str, Sequence[str]] = {
    "glibc": (
        "arena_max=1",
        "arena_max=2",
        # Both thresholds at once: setting one fixes the other at 128 KiB.
        "mmap_threshold=64k,trim_threshold=64k",
        "mmap_threshold=32M,trim_threshold=64M",
        "mmap_threshold=32M,trim_threshold=16k",
        "mmap_threshold=32M,trim_threshold=64M,top_pad=4M",
        "tcache_count=0",
        "hugetlb=1",
    ),
    "jemalloc": (
        "narenas=1",
        "dirty_decay_ms=0,muzzy_decay_ms=0",
        "background_thread=true",
        "tcache=false",
    ),
    "tcmalloc": ("aggressive_decommit=true", "thread_cache_bytes=1M"),
    # Of the two names of the delay, only the one that the version has is tried.
    "mimalloc": ("purge_delay=0", "decommit_delay=0", "reset_delay=0", "eager_commit=0"),
    "tbb": ("huge_pages=1", "huge_size_threshold=8M"),
    "heapwright": ("decay_ms=0", "maintenance=calls", "huge_pages=1"),
}


# What a quick check tries of the recorded allocator where nothing else is advised: most effect first.
QUICK: Mapping[str, Sequence[str]] = {
    "glibc": ("mmap_threshold=64M,trim_threshold=64M", "arena_max=1", "mmap_threshold=64k"),
    "jemalloc": ("dirty_decay_ms=10000,muzzy_decay_ms=10000", "narenas=1"),
    "tcmalloc": ("aggressive_decommit=false", "thread_cache_bytes=1M"),
    "mimalloc": ("purge_delay=1000", "reset_delay=1000"),
}


def is_of_allocators(variable: str) -> bool:
    """Whether an environment variable changes what an allocator does."""
    return variable in _OWN_NAMES or variable.startswith(_OWN_PREFIXES)


def parse(text: str) -> tuple[str, dict[str, str]]:
    """Parses an allocator and its settings: glibc.arena_max=1,top_pad=1M. MeasureError."""
    allocator, dot, listed = text.partition(".")
    if not dot or not listed:
        raise MeasureError(f"--set takes ALLOCATOR.NAME=VALUE, such as --set glibc.arena_max=1, not '{text}'")
    if allocator not in KNOWN:
        raise MeasureError(f"no settings of {allocator} are known; known allocators: {', '.join(KNOWN)}")
    chosen = {}
    for part in listed.split(","):
        name, equals, value = part.removeprefix(f"{allocator}.").partition("=")
        if not equals or not value:
            raise MeasureError(
                f"--set takes NAME=VALUE, such as {allocator}.{name or 'NAME'}=1, not '{part}'"
            )
        chosen[name] = value
    environment_of(allocator, chosen)
    return allocator, chosen


def environment_of(
    allocator: str, chosen: Mapping[str, str], before_them: Mapping[str, str] | None = None
) -> dict[str, str]:
    """The variables for these settings, which override earlier ones. MeasureError for unknown
    settings."""
    environment = dict(before_them or {})
    for name, text in chosen.items():
        way = KNOWN[allocator].get(name)
        if way is None:
            close = get_close_matches(name, KNOWN[allocator], 1, 0.5)
            hint = f"did you mean {close[0]}?" if close else f"known: {', '.join(KNOWN[allocator])}"
            raise MeasureError(f"{allocator} has no setting {name}; {hint}")
        try:
            value = way.entry + way.value(text)
        except ValueError as error:
            raise MeasureError(f"{allocator}.{name} takes {error}, not '{text}'") from None
        before = environment.get(way.variable)
        environment[way.variable] = f"{before}{way.separator}{value}" if before and way.entry else value
    return environment
